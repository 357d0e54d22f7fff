#include "probe/device_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/amdgpu/amdgpu_source.h"
#include "probe/dcmi/dcmi_source.h"
#include "probe/intel/intel_source.h"
#include "probe/nvml/ixml_source.h"
#include "probe/nvml/nvml_probe.h"
#include "probe/presence/presence_source.h"
#include "probe/sysfs/bus.h"
#include "snapshot/device_kind.h"
#include "snapshot/fields.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

constexpr auto sources_known = std::to_array<SourceFacts>({
    {.kind = DeviceKind::nvidia_gpu,
     .kernel_drivers = {"nvidia"},
     .pci_vendor = "0x10de",
     .opening = as_key("starting NVIDIA's library"),
     .runtime_file = "",
     .server = "nvidia-cuda-mps",  // nvidia-cuda-mps-server, cut by the kernel
     .starts_slowly = true,
     .is_library = true,
     .make = make_nvml_source,
     .unlisted = as_key("the nvidia driver has it, but NVIDIA's library does not list it")},
    {.kind = DeviceKind::amd_gpu,
     .kernel_drivers = {"amdgpu"},
     .pci_vendor = "0x1002",
     .opening = as_key("listing the GPUs of the amdgpu driver"),
     .runtime_file = "/opt/rocm/.info/version",
     .server = "",
     .starts_slowly = false,
     .is_library = false,
     .make = make_amdgpu_source},
    {.kind = DeviceKind::intel_gpu,
     .kernel_drivers = {"xe", "i915"},
     .pci_vendor = "0x8086",
     .opening = as_key("listing the GPUs of the xe and i915 drivers"),
     .runtime_file = "",
     .starts_slowly = false,
     .is_library = false,
     .make = make_intel_source},
    {.kind = DeviceKind::ascend_npu,
     .pci_vendor = "0x19e5",
     .opening = as_key("starting Huawei's library"),
     .runtime_file = "",
     .starts_slowly = true,
     .is_library = true,
     .make = make_dcmi_source,
     .sees_any = DcmiSource::sees_any,
     .unlisted = as_key("Huawei's library does not list it"),
     .are_accelerators = true},  // 19e5:1711 is a board's management controller
    {.kind = DeviceKind::hygon_dcu,
     .kernel_drivers = {"hycu", "hydcu"},
     .pci_vendor = "0x1d94",
     .opening = as_key("listing the GPUs of the hycu driver"),
     .runtime_file = "",
     .starts_slowly = false,
     .is_library = false,
     .make = make_hygon_source,
     .sees_any = sees_hygon_files},
    {.kind = DeviceKind::iluvatar_gpu,
     .pci_vendor = "0x1e3e",
     .opening = as_key("starting Iluvatar's library"),
     .runtime_file = "",
     .starts_slowly = true,
     .is_library = true,
     .make = make_ixml_source,
     .sees_any = IxmlSource::sees_any},
    // One source for all kinds that are only known by presence, under the name of one of them.
    {.kind = DeviceKind::cambricon_mlu,
     .pci_vendor = "0xcabc",
     .opening = as_key("listing accelerators of the bus"),
     .runtime_file = "",
     .starts_slowly = false,
     .is_library = false,
     .make = make_presence_source,
     .sees_any =
         [](const Sources& sources, const pci::Makers& makers) {
           return PresenceSource::sees_any(sources.sys, makers, sources.root);
         }},
});

/// One file for all functions: a server has hundreds, and each file of theirs in /sys takes 8 µs
/// (AMD EPYC, 2026-11-26). Not known beside a /sys that is not the machine's.
pci::Makers makers_here(const Sources& sources) {
  if (sources.sys != Sources().sys) return std::nullopt;
  const auto listed = read_file(sources.proc + "/bus/pci/devices");
  return listed ? pci::makers_in(*listed) : std::nullopt;
}

/// Whether the kernel's driver has cards.
bool has_cards(const SourceFacts& source, const Sources& sources, const pci::Makers& makers) {
  if (source.sees_any != nullptr) return source.sees_any(sources, makers);
  return std::ranges::any_of(source.kernel_drivers, [&](std::string_view driver) {
    if (driver.empty()) return false;
    const auto entries = list_directory(sources.sys + "/bus/pci/drivers/" + std::string(driver));
    return entries && std::ranges::any_of(*entries, [](const std::string& entry) {
             return entry.find(':') != std::string::npos;
           });
  });
}

}  // namespace

std::span<const SourceFacts> all_sources() { return sources_known; }

const SourceFacts& source_of(DeviceKind kind) {
  for (const SourceFacts& facts : sources_known) {
    if (facts.kind != kind) continue;
    BERTH_CHECK(!facts_of(kind).source.empty(), "its row in device_kind_rows.h names the source");
    return facts;
  }
  BERTH_CHECK(false, "every driver that is asked has a row in the table");
}

bool is_asked(std::string_view kernel_driver) {
  return std::ranges::any_of(sources_known, [&](const SourceFacts& source) {
    const auto& drivers = source.kernel_drivers;
    return !kernel_driver.empty() && std::ranges::find(drivers, kernel_driver) != drivers.end();
  });
}

void mark_servers(Snapshot& snapshot) {
  // An H200 charges MPS's server with 66 MiB (driver 580). A process with more is at work.
  constexpr Bytes most_of_a_server(256ULL << 20);
  for (GpuProcess& use : snapshot.gpu_processes) {
    const auto& memory = use.memory.get();
    const HostProcess* process = find_process(use.pid, snapshot);
    if (process == nullptr || use.use != GpuUse::compute || !memory || *memory > most_of_a_server) {
      continue;
    }
    const auto& name = process->executable_name.get();
    use.server =
        name && !name->empty() &&
        std::ranges::find(sources_known, *name, &SourceFacts::server) != sources_known.end();
  }
}

std::vector<DeviceKind> drivers_here(const Sources& sources) {
  const SourceFacts& first = sources_known.front();
  const pci::Makers makers = makers_here(sources);
  std::vector<DeviceKind> here;
  for (const SourceFacts& one : sources_known) {
    if (&one != &first && has_cards(one, sources, makers)) here.push_back(one.kind);
  }
  // Most machines have cards of one maker. A search for another's library would end with a problem.
  const auto has_firsts = [&] {
    const std::uint32_t vendor = pci::parse_id(first.pci_vendor).value_or(0);
    return makers ? pci::may_have(makers, vendor)
                  : sysfs::has_function_of(vendor, nullptr, sources.sys);
  };
  const bool is_first_asked =
      here.empty() || sources.nvml_library != Sources().nvml_library || has_firsts();
  if (is_first_asked) here.insert(here.begin(), first.kind);
  return here;
}

bool is_suspended(const std::string& pci_folder) {
  const auto told = read_file(pci_folder + "/power/runtime_status", 64);
  if (!told) return false;
  const std::string_view status = trimmed(*told);
  return status == "suspended" || status == "suspending" || status == "resuming";
}

bool are_all_suspended(std::string_view driver, const std::string& sys) {
  const auto entries = list_directory(sys + "/bus/pci/drivers/" + std::string(driver));
  bool any = false;
  for (const std::string& entry : entries.value_or(std::vector<std::string>{})) {
    if (entry.find(':') == std::string::npos) continue;
    if (!is_suspended(sys + "/bus/pci/devices/" + entry)) return false;
    any = true;
  }
  return any;
}

std::string shown_as(int index, const Device& device) {
  if (device.pci_address.get()) return fmt::format("GPU {} ({})", index, *device.pci_address.get());
  return fmt::format("GPU {}", index);
}

Device only_facts(const Device& device, Absent why) {
  static const Snapshot nobody;
  Device kept = device;
  for (const Field* field : stored_fields()) {
    if (field->is_fact && field->read(device, nobody).has_value()) continue;
    field->write(kept, Cell(why));
  }
  kept.utilization_history = why;
  kept.details = {};
  kept.lists = {};
  return kept;
}

void mark_unread(Device& device, Absent why) {
  static const Snapshot nobody;
  for (const Field* field : stored_fields()) {
    if (field->read(device, nobody) == Cell(Absent::not_sampled)) field->write(device, Cell(why));
  }
  if (!device.utilization_history.get()) device.utilization_history = why;
}

}  // namespace berth
