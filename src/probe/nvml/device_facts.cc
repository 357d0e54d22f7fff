// Who a device is and what does not change while its driver is loaded.

#include <fmt/format.h>

#include <bit>
#include <string>

#include "cards/find.h"
#include "probe/nvml/card_table.h"
#include "probe/nvml/device_reading.h"

namespace berth::nvml {

namespace {

// PCI has 256 buses of 32 devices, and answers with all bits set where no device is.
template <class Info>
void take_pci(const Info& info, Device& device) {
  device.pci_address = device.pci_id = Absent::failed;
  if (info.bus <= 0xFF && info.device <= 0x1F && !is_unavailable(info.domain)) {
    device.pci_address = pci_address(info.domain, info.bus, info.device);
  }
  if (info.device_and_vendor == 0 || is_unavailable(info.device_and_vendor)) return;
  device.pci_id =
      fmt::format("{:04x}:{:04x}", info.device_and_vendor & 0xFFFF, info.device_and_vendor >> 16);
}

void read_pci(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  const auto info = asker.ask<PciInfoV3>(api.nvmlDeviceGetPciInfo_v3, 0);
  if (info) return take_pci(*info, device);
  const auto older = is_refused_for_good(info.error())
                         ? asker.ask<PciInfoV2>(api.nvmlDeviceGetPciInfo_v2, 0)
                         : std::unexpected(info.error());
  if (older) return take_pci(*older, device);
  device.pci_address = device.pci_id = why_absent(older.error());
}

void read_capability(DeviceAsker& asker, Device& device) {
  constexpr int most_major = 99;
  int major = 0;
  int minor = 0;
  const Return code = asker.call(asker.api().nvmlDeviceGetCudaComputeCapability, 0, &major, &minor);
  if (code != success) {
    device.compute_capability = why_absent(code);
  } else if (major <= 0) {
    device.compute_capability = Absent::unsupported;
  } else if (major > most_major || minor < 0 || minor > 9) {
    device.compute_capability = Absent::failed;
  } else {
    device.compute_capability = ComputeCapability{major, minor};
  }
}

void read_architecture(DeviceAsker& asker, Device& device) {
  const auto number = asker.ask<unsigned>(asker.api().nvmlDeviceGetArchitecture, 0);
  std::optional<std::string_view> name;
  if (number) name = architecture_name(*number);
  if (!name && device.compute_capability.get()) {
    name = architecture_name(*device.compute_capability.get());
  }
  if (name) {
    device.architecture = std::string(*name);
  } else {
    device.architecture = number ? Absent::unsupported : why_absent(number.error());
  }
}

void read_cores(DeviceAsker& asker, Device& device) {
  const auto cores = asker.ask<unsigned>(asker.api().nvmlDeviceGetNumGpuCores, 0);
  device.cuda_cores = number(cores, core_counts);
  if (!cores && is_refused_for_good(cores.error()) && device.name.get()) {
    if (const auto known = cores_of_product(*device.name.get())) device.cuda_cores = *known;
  }
  device.multiprocessors = device.cuda_cores.get() ? Absent::unsupported : device.cuda_cores.why();
  if (!device.cuda_cores.get() || !device.compute_capability.get()) return;
  const auto each = cores_per_multiprocessor(*device.compute_capability.get());
  if (each && *device.cuda_cores.get() % *each == 0) {
    device.multiprocessors = *device.cuda_cores.get() / *each;
  }
}

void read_memory_interface(DeviceAsker& asker, Device& device) {
  device.memory_bus_width =
      number(asker.ask<unsigned>(asker.api().nvmlDeviceGetMemoryBusWidth, 0), memory_bus_bits);
  device.memory_bandwidth =
      device.memory_bus_width.get() ? device.clock_memory_max.why() : device.memory_bus_width.why();
  if (!device.memory_bus_width.get() || !device.clock_memory_max.get()) return;
  device.memory_bandwidth =
      peak_memory_bandwidth(*device.memory_bus_width.get(), *device.clock_memory_max.get());
}

// nvmlDeviceGetNumaNodeId is not it: that is the node that a GPU is, where GPUs are NUMA nodes.
void read_numa_node(DeviceAsker& asker, Device& device) {
  constexpr unsigned words_asked = 4;
  unsigned long nodes[words_asked] = {};
  const Return code = asker.call(asker.api().nvmlDeviceGetMemoryAffinity, 0, words_asked,
                                 static_cast<unsigned long*>(nodes), affinity_node);
  device.numa_node = code == success ? Absent::unsupported : why_absent(code);
  if (code != success) return;
  int found = 0;
  for (unsigned word = 0; word < words_asked; ++word) {
    found += std::popcount(nodes[word]);
    if (nodes[word] == 0) continue;
    device.numa_node = static_cast<std::uint64_t>(
        word * 64 + static_cast<unsigned>(std::countr_zero(nodes[word])));
  }
  if (found != 1) device.numa_node = Absent::unsupported;
}

}  // namespace

std::string pci_address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device) {
  return fmt::format("{:08x}:{:02x}:{:02x}.0", domain, bus, device);
}

void read_identity(DeviceAsker& asker, const Wanted& missing, Device& device) {
  const Api& api = asker.api();
  if (missing.has<&Device::uuid>()) device.uuid = asker.ask_uuid();
  if (missing.has<&Device::name>()) device.name = asker.ask_text(api.nvmlDeviceGetName);
  if (missing.has<&Device::pci_address, &Device::pci_id>()) read_pci(asker, device);
  if (missing.has<&Device::minor_number>()) {
    device.minor_number =
        number(asker.ask<unsigned>(api.nvmlDeviceGetMinorNumber, 0), device_minors);
  }
  if (missing.has<&Device::compute_capability>()) read_capability(asker, device);
  device.kernel_driver = std::string("nvidia");
}

namespace {

void read_limits(DeviceAsker& asker, const Wanted& missing, Device& device) {
  const Api& api = asker.api();
  if (missing.has<&Device::temperature_slowdown>()) {
    device.temperature_slowdown = above_zero<Celsius>(asker.ask<unsigned>(
        api.nvmlDeviceGetTemperatureThreshold, threshold_slowdown, threshold_slowdown));
  }
  if (missing.has<&Device::power_limit_default>()) {
    device.power_limit_default = above_zero<Milliwatts>(
        asker.ask<unsigned>(api.nvmlDeviceGetPowerManagementDefaultLimit, 0));
  }
  if (missing.has<&Device::pcie_generation_max>()) {
    device.pcie_generation_max =
        number(asker.ask<unsigned>(api.nvmlDeviceGetMaxPcieLinkGeneration, 0), pcie_generations);
  }
  if (missing.has<&Device::pcie_width_max>()) {
    device.pcie_width_max =
        number(asker.ask<unsigned>(api.nvmlDeviceGetMaxPcieLinkWidth, 0), pcie_lanes);
  }
}

void read_brand(DeviceAsker& asker, Device& device) {
  const auto brand = asker.ask<unsigned>(asker.api().nvmlDeviceGetBrand, 0);
  device.brand = brand ? Absent::unsupported : why_absent(brand.error());
  if (brand && brand_name(*brand)) device.brand = std::string(*brand_name(*brand));
}

}  // namespace

void read_facts(DeviceAsker& asker, const Wanted& missing, Device& device) {
  const Api& api = asker.api();
  const auto clock = [&](unsigned domain) {
    return above_zero<Megahertz>(
        asker.ask<unsigned>(api.nvmlDeviceGetMaxClockInfo, domain, domain));
  };
  if (missing.has<&Device::serial>()) device.serial = asker.ask_text(api.nvmlDeviceGetSerial);
  if (missing.has<&Device::vbios_version>()) {
    device.vbios_version = asker.ask_text(api.nvmlDeviceGetVbiosVersion);
  }
  if (missing.has<&Device::brand>()) read_brand(asker, device);
  if (missing.has<&Device::architecture>()) read_architecture(asker, device);
  if (missing.has<&Device::cuda_cores>()) read_cores(asker, device);
  if (missing.has<&Device::clock_graphics_max>()) device.clock_graphics_max = clock(clock_graphics);
  if (missing.has<&Device::clock_sm_max>()) device.clock_sm_max = clock(clock_sm);
  if (missing.has<&Device::clock_memory_max>()) device.clock_memory_max = clock(clock_memory);
  if (missing.has<&Device::memory_bus_width>()) read_memory_interface(asker, device);
  if (missing.has<&Device::numa_node>()) read_numa_node(asker, device);
  read_limits(asker, missing, device);
}

}  // namespace berth::nvml
