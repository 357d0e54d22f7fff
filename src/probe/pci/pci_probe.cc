#include "probe/pci/pci_probe.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "probe/device_source.h"
#include "probe/sysfs/files.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

template <class T>
void fill(Reading<T>& reading, std::optional<T> value) {
  if (!reading.get() && value) reading = std::move(*value);
}

std::string pci_id_of(const pci::Function& function) {
  return fmt::format("{:04x}:{:04x}", function.vendor, function.device);
}

Problem cannot_list(const Error& error) {
  return {.source = "pci",
          .code = "not_readable",
          .message = error.said(),
          .remedy = sentence("PCI devices without a driver are not shown; is /sys mounted?")};
}

}  // namespace

std::string PciProbe::path_of(const std::string& entry, std::string_view file) const {
  std::string path = source_.sys;
  path += "/bus/pci/devices/";
  path += entry;
  path += '/';
  path += file;
  return path;
}

const std::string& PciProbe::pci_ids() {
  if (pci_ids_) return *pci_ids_;
  pci_ids_.emplace();
  // Debian and Ubuntu; Fedora, RHEL and Arch; Gentoo and older ones.
  std::vector<std::string> places = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids",
                                     "/usr/share/pci.ids"};
  if (!source_.pci_ids.empty()) places = {source_.pci_ids};
  for (const std::string& place : places) {
    auto text = read_file(place, 16 << 20);
    if (!text) continue;
    pci_ids_ = std::move(*text);
    break;
  }
  return *pci_ids_;
}

void PciProbe::complete(Device& device, const pci::Function& function, const std::string& entry) {
  fill(device.pci_id, std::optional(pci_id_of(function)));
  if (!device.name.get() && device.name.why() == Absent::unsupported) {  // its driver knows none
    fill(device.name, name_of(function));
  }
  if (!device.kernel_driver.get()) {
    device.kernel_driver =
        function.driver ? Reading<std::string>(*function.driver) : Absent::unsupported;
  }
  if (!device.numa_node.get()) {
    const auto line = sysfs::line_of(path_of(entry, "numa_node"));
    const auto node =
        line.get() ? parse_unsigned(*line.get()) : std::nullopt;  // "-1": there is but one node
    device.numa_node = node ? Reading<std::uint64_t>(*node) : Absent::unsupported;
  }
  if (device.pcie_generation.get() && device.pcie_width.get()) return;
  // Asking a card that sleeps for its link would wake it up.
  if (is_suspended(path_of(entry, ""))) return;
  const auto generation = [&](std::string_view file) {
    const auto line = sysfs::line_of(path_of(entry, file));
    return line.get() ? pci::generation_from_speed(*line.get()) : std::nullopt;
  };
  const auto width = [&](std::string_view file) -> std::optional<std::uint64_t> {
    const auto line = sysfs::line_of(path_of(entry, file));
    const auto lanes = line.get() ? parse_unsigned(*line.get()) : std::nullopt;
    return lanes && *lanes > 0 && *lanes <= 32 ? lanes : std::nullopt;
  };
  fill(device.pcie_generation, generation("current_link_speed"));
  fill(device.pcie_generation_max, generation("max_link_speed"));
  fill(device.pcie_width, width("current_link_width"));
  fill(device.pcie_width_max, width("max_link_width"));
}

void PciProbe::place(Snapshot& snapshot) const {
  for (Device& device : snapshot.devices) {
    const auto& address = device.pci_address.get();
    constexpr std::size_t extra_digits = 4;  // the kernel writes domains with four
    if (!address || device.parent || address->size() < extra_digits) continue;
    std::string entry = *address;
    if (entry.starts_with("0000")) entry.erase(0, extra_digits);
    const auto link = read_link(source_.sys + "/bus/pci/devices/" + entry);
    constexpr std::string_view mark = "/devices/";
    const std::size_t at = link ? link->rfind(mark) : std::string::npos;
    device.details.set(Detail::pci_path,
                       at == std::string::npos
                           ? Reading<std::string>(Absent::failed)
                           : Reading<std::string>(link->substr(at + mark.size())));
    const auto processors = sysfs::line_of(path_of(entry, "local_cpulist"));
    if (processors.get()) {
      device.details.set(Detail::cpu_affinity, processors);
    } else if (!device.details.cell(Detail::cpu_affinity).get()) {  // the driver may have told it
      device.details.set(Detail::cpu_affinity, Reading<std::string>(Absent::failed));
    }
  }
}

// The driver has a folder for each of its cards. NVIDIA's container runtime shows only the
// container's own, while /sys shows all.
bool PciProbe::is_another_containers(const std::string& address) const {
  const auto shown = list_directory(source_.proc + "/driver/nvidia/gpus");
  return shown && !shown->empty() && std::ranges::none_of(*shown, [&](const std::string& name) {
           return normal_pci_address(name) == address;
         });
}

// For a card that the driver knows and does not list. Only an open can tell: neither Landlock nor a
// control group shows in the file's mode.
bool PciProbe::is_closed_to_us(const std::string& address) {
  const auto known = closed_.find(address);
  if (known != closed_.end()) return known->second;
  // Once: the driver writes a line into the kernel's log where it opens a broken card in vain.
  bool& is_closed = closed_[address];
  const std::string gpus = source_.proc + "/driver/nvidia/gpus/";
  for (const std::string& name : entries_in(gpus)) {
    if (normal_pci_address(name) != address) continue;
    const auto facts = read_proc_file(gpus + name + "/information").value_or("");
    for (const std::string_view line : split(facts, '\n')) {
      const std::size_t colon = line.find(':');
      if (line.substr(0, colon) != "Device Minor" || colon == line.npos) continue;
      const auto minor = parse_unsigned(trimmed(line.substr(colon + 1)));
      if (!minor) continue;
      const auto opened =
          open_fd(source_.dev + "/nvidia" + std::to_string(*minor), O_RDWR | O_NONBLOCK | O_NOCTTY);
      is_closed = !opened && opened.error().code() == ErrorCode::no_permission;
    }
  }
  return is_closed;
}

WhyUnusable PciProbe::why_unusable(const pci::Function& function, const std::string& entry,
                                   const Snapshot& snapshot) {
  const auto& excluded = snapshot.host.excluded_devices.get();
  const bool is_excluded =
      excluded && std::ranges::any_of(*excluded, [&](const ExcludedDevice& one) {
        return one.pci_address == function.address;
      });
  if (is_excluded) return Unusable::left_out;
  const std::string_view source = facts_of(pci::kind_of(function)).source;
  const bool answered = std::ranges::any_of(snapshot.sources, [&](const SourceReport& report) {
    return report.succeeded && report.source == source;
  });
  if (answered && function.driver == "nvidia" &&
      (is_another_containers(function.address) || is_closed_to_us(function.address))) {
    return Unusable::kept_from_us;
  }
  const bool is_bound = function.driver && is_asked(*function.driver);
  if (!answered && is_bound && is_suspended(path_of(entry, ""))) return Unusable::asleep;
  return pci::unusable_because(function, answered);
}

std::optional<std::string> PciProbe::name_of(const pci::Function& function) {
  auto name = pci::name_in_pci_ids(pci_ids(), function.vendor, function.device);
  return name ? std::move(*name) : fmt::format("PCI device {}", pci_id_of(function));
}

Device PciProbe::device_from(const pci::Function& function, const std::string& entry,
                             const Snapshot& snapshot) {
  Device device;
  device.id = DeviceId(function.address);
  device.kind = pci::kind_of(function);
  device.pci_address = function.address;
  device.unusable_because = why_unusable(function, entry, snapshot);
  device.name = *name_of(function);
  return device;
}

void PciProbe::observe(Snapshot& snapshot) {
  const auto entries = list_directory(source_.sys + "/bus/pci/devices");
  if (!entries) {
    snapshot.problems.push_back(cannot_list(entries.error()));
    snapshot.sources.push_back({.source = "pci", .succeeded = false});
    return;
  }
  // A server has hundreds of functions, and what each of them is does not change.
  const auto before = std::exchange(classes_, {});
  for (const std::string& entry : *entries) {
    const auto kept = before.find(entry);
    const auto pci_class =
        kept != before.end() ? std::optional(kept->second) : sysfs::hex_of(path_of(entry, "class"));
    if (pci_class) classes_.emplace(entry, *pci_class);
    if (!pci_class || !pci::is_wanted_class(*pci_class)) continue;
    const auto address = normal_pci_address(entry);
    const auto vendor = sysfs::hex_of(path_of(entry, "vendor"));
    const auto number = sysfs::hex_of(path_of(entry, "device"));
    if (!address || !vendor || !number) continue;
    pci::Function function{
        .address = *address, .vendor = *vendor, .device = *number, .pci_class = *pci_class};
    if (const auto driver = read_link(path_of(entry, "driver"))) {
      function.driver = driver->substr(driver->rfind('/') + 1);
    }
    bool known = false;
    for (Device& device : snapshot.devices) {
      if (device.pci_address.get() != *address) continue;
      known = true;
      complete(device, function, entry);
    }
    if (known) continue;
    Device device = device_from(function, entry, snapshot);
    complete(device, function, entry);
    // One that sleeps stays as it is: nobody has asked.
    if (device.unusable_because != Unusable::asleep) {
      mark_unread(device,
                  facts_of(device.kind).source.empty() ? Absent::unsupported : Absent::failed);
    }
    snapshot.devices.push_back(std::move(device));
  }
  snapshot.sources.push_back({.source = "pci", .succeeded = true});
}

}  // namespace berth
