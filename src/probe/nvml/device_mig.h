#pragma once
// The MIG instances of a GPU: devices of their own, with their own memory, on the parent's card.

#include <vector>

#include "probe/nvml/device_processes.h"
#include "probe/nvml/device_reading.h"
#include "snapshot/process.h"

namespace berth::nvml {

/// The instances that exist now, each with identity, facts and memory. What belongs to the whole
/// card (power, temperature, clocks, utilisation) is unsupported for an instance.
/// `processes`, where not null, gets those that the instances list, with their `device`, and why
/// there may be more. It is for a user who may not see the parent's list.
[[nodiscard]] std::vector<Device> read_mig_instances(DeviceAsker& parent_asker,
                                                     const Device& parent, DeviceMemory& memory,
                                                     ProcessList* processes);

/// Gives each process that has no device yet its instance's id, or the parent's.
void attribute_processes(const std::vector<Device>& devices, std::vector<GpuProcess>& processes);

/// A process cannot hold more than its device has: the driver's answer for it is none.
void leave_out_impossible_memory(const Device& device, std::vector<GpuProcess>& processes);

}  // namespace berth::nvml
