#include "probe/presence/presence_source.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/amdgpu/cards.h"
#include "probe/nvml/ixml_source.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/files.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

// Inferentia and Trainium, as the neuron driver lists them.
constexpr std::array<std::uint32_t, 5> neuron_devices = {0x7064, 0x7164, 0x7264, 0x7364, 0x7365};

bool has_amdgpus_files(const std::string& folder, const std::string&) {
  return amdgpu::has_files_of(amdgpu::hygons, folder);
}
bool has_ixml(const std::string&, const std::string& root) {
  return IxmlSource::library_in(root).has_value();
}

// Sources: the makers' drivers and container tools. No tree of a real machine was found for any of
// them. Only their PCI class and their files' names are known here.
constexpr std::array<PresenceRow, 9> presence_table = {{
    {.kind = DeviceKind::hygon_dcu,
     .pci_vendor = 0x1d94,
     .file = "/dev/dri/renderD",
     .is_read_elsewhere = has_amdgpus_files},
    {.kind = DeviceKind::cambricon_mlu, .pci_vendor = 0xcabc, .file = "/dev/cambricon_dev"},
    {.kind = DeviceKind::mthreads_gpu, .pci_vendor = 0x1ed5, .file = "/dev/dri/renderD"},
    {.kind = DeviceKind::metax_gpu, .pci_vendor = 0x9999, .file = "/dev/dri/renderD"},
    {.kind = DeviceKind::iluvatar_gpu,
     .pci_vendor = 0x1e3e,
     .file = "/dev/iluvatar",
     .is_read_elsewhere = has_ixml},
    {.kind = DeviceKind::habana_gaudi,
     .pci_vendor = 0x1da3,
     .class_folder = "/class/accel",
     .file = "/dev/accel/accel",
     // Its index changes with a reboot, the module does not (sysfs-driver-habanalabs).
     .number_file = "/module_id"},
    {.kind = DeviceKind::google_tpu, .pci_vendor = 0x1ae0, .file = "/dev/accel"},
    {.kind = DeviceKind::tenstorrent,
     .pci_vendor = 0x1e52,
     .class_folder = "/class/tenstorrent",
     .file = "/dev/tenstorrent/"},
    {.kind = DeviceKind::aws_neuron,
     .pci_vendor = 0x1d0f,
     .pci_devices = neuron_devices,
     .file = "/dev/neuron",
     .is_shuffled = true},  // neuron-ls: 0 is cc:00.0, 1 is b5:00.0
}};

/// The row of a function of the bus; null: another device, or another source's.
const PresenceRow* row_of(const std::string& folder, const std::string& root) {
  const auto vendor = sysfs::hex_of(folder + "/vendor");
  const auto row = std::ranges::find_if(
      presence_table, [&](const PresenceRow& one) { return vendor && one.pci_vendor == *vendor; });
  if (row == presence_table.end()) return nullptr;
  if (!row->pci_devices.empty()) {
    const auto device = sysfs::hex_of(folder + "/device");
    return device && std::ranges::find(row->pci_devices, *device) != row->pci_devices.end()
               ? row
               : nullptr;
  }
  const auto pci_class = sysfs::hex_of(folder + "/class");
  if (!pci_class || !pci::is_wanted_class(*pci_class)) return nullptr;
  const bool is_anothers =
      row->is_read_elsewhere != nullptr && row->is_read_elsewhere(folder, root);
  return is_anothers ? nullptr : row;
}

/// A function that a program drives itself has its IOMMU group's file (TPUs from v5 on); nothing:
/// it is not given out so.
std::optional<std::uint64_t> vfio_group(const std::string& folder) {
  const auto driver = read_link(folder + "/driver");
  const auto group = read_link(folder + "/iommu_group");
  if (!driver || !group || !driver->ends_with("/vfio-pci")) return std::nullopt;
  return parse_unsigned(std::string_view(*group).substr(group->rfind('/') + 1));
}

/// N of "accel3" and of "tenstorrent!3".
std::optional<std::uint64_t> number_at_end(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return parse_unsigned(last == name.npos ? name : name.substr(last + 1));
}

}  // namespace

std::span<const PresenceRow> presence_rows() { return presence_table; }

bool PresenceSource::sees_any(const std::string& sys, const pci::Makers& makers,
                              const std::string& root) {
  const auto may_be_there = [&](const PresenceRow& row) {
    return pci::may_have(makers, row.pci_vendor);
  };
  if (std::ranges::none_of(presence_table, may_be_there)) return false;
  const std::string folder = sys + "/bus/pci/devices";
  return std::ranges::any_of(entries_in(folder), [&](const std::string& entry) {
    return row_of(folder + "/" + entry, root) != nullptr;
  });
}

/// By what /sys says whose a file is; else by their order, where there are as many as devices.
void PresenceSource::find_files(std::vector<Found>& found) const {
  std::map<const PresenceRow*, std::vector<Found*>> by_row;
  for (Found& one : found) by_row[one.row].push_back(&one);
  for (auto& [row, ones] : by_row) {
    const bool is_drm = row->file.starts_with("/dev/dri/");
    if (!row->class_folder.empty()) {
      const std::string folder = sys_ + std::string(row->class_folder);
      for (const std::string& name : entries_in(folder)) {
        const auto link = read_link(folder + "/" + name + "/device");
        const auto address =
            link ? normal_pci_address(link->substr(link->rfind('/') + 1)) : std::nullopt;
        const auto number = number_at_end(name);
        for (Found* one : ones) {
          if (address == one->address && number) one->minor = number;
        }
      }
    } else if (is_drm) {
      constexpr std::string_view render = "renderD";
      for (Found* one : ones) {
        for (const std::string& name : entries_in(one->folder + "/drm")) {
          if (name.starts_with(render)) one->minor = number_at_end(name);
          one->files.push_back("/dev/dri/" + name);
        }
      }
      continue;
    } else {
      const std::size_t slash = row->file.rfind('/');
      const std::string_view beginning = row->file.substr(slash + 1);
      std::vector<std::uint64_t> numbers;
      for (const std::string& name :
           entries_in(dev_ + std::string(row->file.substr(4, slash - 4)))) {
        if (const auto number = number_behind(name, beginning)) numbers.push_back(*number);
      }
      std::ranges::sort(numbers);
      if (row->is_shuffled && ones.size() > 1) {
        for (Found* one : ones) {
          for (const std::uint64_t number : numbers) {
            one->files.push_back(std::string(row->file) + std::to_string(number));
          }
        }
        continue;
      }
      for (std::size_t i = 0; i < ones.size() && numbers.size() == ones.size(); ++i) {
        ones[i]->minor = numbers[i];
      }
    }
    for (Found* one : ones) {
      if (const auto group = vfio_group(one->folder)) {
        one->files.push_back("/dev/vfio/" + std::to_string(*group));
        one->minor = *group;
        continue;
      }
      if (one->minor) one->files.push_back(std::string(row->file) + std::to_string(*one->minor));
    }
  }
}

std::expected<int, Problem> PresenceSource::open() {
  files_.reset();
  std::vector<Found> found;
  const std::string folder = sys_ + "/bus/pci/devices";
  std::map<const PresenceRow*, int> counts;
  for (const std::string& entry : entries_in(folder)) {
    const PresenceRow* row = row_of(folder + "/" + entry, root_);
    auto address = normal_pci_address(entry);
    if (row == nullptr || !address) continue;
    found.push_back({.row = row,
                     .folder = folder + "/" + entry,
                     .address = std::move(*address),
                     .number = counts[row]++});
  }
  find_files(found);
  found_ = std::move(found);
  if (found_.empty()) {
    return std::unexpected(Problem{.source = "device_files",
                                   .code = "device_gone",
                                   .message = sentence("the bus has no accelerator any more"),
                                   .remedy = Sentence()});
  }
  return static_cast<int>(found_.size());
}

Device PresenceSource::identify_device(int index, const Wanted&) {
  const Found& one = found_[static_cast<std::size_t>(index)];
  Device device;
  device.kind = one.row->kind;
  device.id = DeviceId(one.address);
  device.index = index;
  device.runtime_index = one.number;
  if (!one.row->number_file.empty()) {
    const auto told = sysfs::number_of(one.folder + std::string(one.row->number_file));
    if (told.get() && *told.get() < 1024) {
      device.runtime_index = static_cast<int>(*told.get());
    } else {
      device.unusable_because = WhyUnusable(as_key("its driver does not tell its module id"));
    }
  }
  device.pci_address = one.address;
  device.name = Absent::unsupported;  // the list of PCI devices has it
  device.minor_number =
      one.minor ? Reading<std::uint64_t>(*one.minor) : Reading<std::uint64_t>(Absent::unsupported);
  return device;
}

std::optional<std::vector<pid_t>> PresenceSource::holders_of(const Found& one) const {
  if (one.files.empty()) return std::nullopt;
  if (!one.row->is_shuffled) return files_->holders_of(one.files);
  // Nobody has any of them, or somebody has all: then it does not matter which is its own.
  std::vector<pid_t> holders = files_->holders_of({one.files.front()});
  for (const std::string& file : one.files) {
    if (files_->holders_of({file}) != holders) return std::nullopt;
  }
  return holders;
}

DeviceLook PresenceSource::observe_device(int index, const Wanted& wanted, WallTime) {
  const Found& one = found_[static_cast<std::size_t>(index)];
  DeviceLook look;
  look.devices.push_back(only_facts(identify_device(index, wanted), Absent::unsupported));
  Device& device = look.devices.front();
  if (!wanted.has(Extra::processes)) return look;
  if (!files_) {
    std::vector<std::string> beginnings;
    for (const PresenceRow& row : presence_table) beginnings.emplace_back(row.file);
    beginnings.emplace_back("/dev/dri/card");
    beginnings.emplace_back("/dev/vfio/");
    files_.emplace(proc_, std::move(beginnings));
  }
  const auto holders = holders_of(one);
  if (!holders) {
    device.process_count = Absent::failed;
    return look;
  }
  for (const pid_t pid : *holders) {
    GpuProcess process;
    process.device = device.id;
    process.pid = pid;
    process.memory = Absent::unsupported;
    process.utilization_sm = Absent::unsupported;
    look.processes.push_back(std::move(process));
  }
  const auto unread = files_->why_none()     ? files_->why_none()
                      : files_->hides_some() ? std::optional(Absent::no_permission)
                                             : std::nullopt;
  device.process_count =
      unread ? Reading<std::uint64_t>(*unread) : Reading<std::uint64_t>(look.processes.size());
  return look;
}

Device PresenceSource::skipped_device(int index) const {
  const Found& one = found_[static_cast<std::size_t>(index)];
  Device device = only_facts(Device{}, Absent::failed);
  device.kind = one.row->kind;
  device.id = DeviceId(one.address);
  device.index = index;
  device.pci_address = one.address;
  return device;
}

}  // namespace berth
