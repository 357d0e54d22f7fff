#include "probe/nvml/device_mig.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/device_source.h"
#include "probe/nvml/card_table.h"
#include "probe/nvml/device_details.h"
#include "probe/nvml/device_processes.h"

namespace berth::nvml {

namespace {

std::optional<Partition> place_of(DeviceAsker& asker) {
  const auto gpu = asker.ask<unsigned>(asker.api().nvmlDeviceGetGpuInstanceId, 0);
  const auto compute = asker.ask<unsigned>(asker.api().nvmlDeviceGetComputeInstanceId, 0);
  if (!gpu || !compute || *gpu == no_instance || *compute == no_instance) return std::nullopt;
  return Partition{*gpu, *compute};
}

void read_multiprocessors(DeviceAsker& asker, Device& device) {
  const auto attributes = asker.ask<Attributes>(asker.api().nvmlDeviceGetAttributes_v2, 0);
  if (!attributes) {
    device.multiprocessors = device.cuda_cores = why_absent(attributes.error());
    return;
  }
  device.multiprocessors =
      number(std::expected<unsigned, Return>(attributes->multiprocessors), multiprocessor_counts);
  device.cuda_cores = Absent::unsupported;
  if (!device.compute_capability.get() || !device.multiprocessors.get()) return;
  if (const auto each = cores_per_multiprocessor(*device.compute_capability.get())) {
    device.cuda_cores = attributes->multiprocessors * *each;
  }
}

Device read_instance(DeviceAsker& asker, const Device& parent, unsigned slot) {
  Device device = only_facts(parent, Absent::unsupported);
  device.kind = DeviceKind::nvidia_mig;
  device.parent = parent.id;
  device.partition = place_of(asker);
  device.mig_mode = true;
  device.memory_bus_width = Absent::unsupported;
  device.memory_bandwidth = Absent::unsupported;
  device.uuid = asker.ask_uuid();
  if (asker.wants<&Device::name>()) device.name = asker.ask_text(asker.api().nvmlDeviceGetName);
  const std::string place = device.partition ? fmt::format("/{}/{}", device.partition->gpu_instance,
                                                           device.partition->compute_instance)
                                             : fmt::format("/slot-{}", slot);
  device.id = DeviceId(device.uuid.get() ? *device.uuid.get() : parent.id.text() + place);
  const bool whole = asker.wants(Extra::instance_readings);
  if (whole || asker.wants<&Device::multiprocessors>()) read_multiprocessors(asker, device);
  if (wants_memory(asker)) read_memory(asker, device);
  if (whole) {
    read_instance_details(asker, device.details);
    // The driver tells no other errors of an instance.
    device.ecc_uncorrected =
        device.details.get<std::uint64_t>(Detail::ecc_uncorrected_volatile_sram);
  }
  if (asker.is_lost()) {
    device.lost = true;
    device = only_facts(device, Absent::failed);
  }
  return device;
}

}  // namespace

std::vector<Device> read_mig_instances(DeviceAsker& parent_asker, const Device& parent,
                                       DeviceMemory& memory, ProcessList* processes) {
  const Api& api = parent_asker.api();
  const auto count = parent_asker.ask<unsigned>(api.nvmlDeviceGetMaxMigDeviceCount, 0);
  // That many can be there, not that many are: a divided card that can have none is no answer.
  if (count && *count == 0) {
    parent_asker.note_failure(api.nvmlDeviceGetMaxMigDeviceCount.symbol, unknown);
  }
  constexpr unsigned most = 64;  // seven today
  std::vector<Device> instances;
  for (unsigned slot = 0; count && slot < std::min(*count, most); ++slot) {
    const auto handle = parent_asker.ask<Handle>(api.nvmlDeviceGetMigDeviceHandleByIndex, 0, slot);
    if (!handle) {  // an empty slot answers "not found"
      const bool is_missed = handle.error() != not_found;
      if (is_missed && processes != nullptr) processes->unread = handle.error();
      continue;
    }
    DeviceAsker asker(parent_asker, *handle, memory.instance_refusals);
    instances.push_back(read_instance(asker, parent, slot));
    if (processes != nullptr) {
      ProcessList listed = read_processes(asker);
      if (listed.unread && !processes->unread) processes->unread = listed.unread;
      for (GpuProcess& process : listed.processes) {
        process.partition = instances.back().partition;
        process.device = instances.back().id;
        processes->processes.push_back(std::move(process));
      }
    }
    parent_asker.add_failures_of(asker);
  }
  if (instances.empty() && processes != nullptr) processes->unread = unknown;
  return instances;
}

void leave_out_impossible_memory(const Device& device, std::vector<GpuProcess>& processes) {
  const auto& total = device.memory_total.get();
  for (GpuProcess& process : processes) {
    const auto& used = process.memory.get();
    if (total && used && *used > *total) process.memory = Absent::failed;
  }
}

void attribute_processes(const std::vector<Device>& devices, std::vector<GpuProcess>& processes) {
  for (GpuProcess& process : processes) {
    if (!process.device.text().empty()) continue;
    process.device = devices.front().id;
    for (const Device& device : devices) {
      if (device.partition && device.partition == process.partition) process.device = device.id;
    }
  }
}

}  // namespace berth::nvml
