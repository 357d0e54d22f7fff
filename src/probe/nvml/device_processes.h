#pragma once
// Who is on a device: the driver's three lists of processes (compute, graphics, MPS) made one. And
// how busy each process keeps the device's engines.

#include <optional>
#include <vector>

#include "probe/nvml/device_reading.h"
#include "snapshot/process.h"

namespace berth::nvml {

struct ProcessList {
  /// Each once for each MIG instance it is on, in the driver's order: those that compute first.
  /// `device` of each is left empty.
  std::vector<GpuProcess> processes;
  /// Why there may be more: the list of those that compute could not be had, or another one that
  /// this device has. Nothing: these are all.
  std::optional<Return> unread;
};
[[nodiscard]] ProcessList read_processes(DeviceAsker& asker);

/// Fills the utilisations of the processes from the driver's samples since the look before: each
/// the newest sample of its process. JPEG and optical flow only where Extra::process_engines is
/// wanted, from driver 550 on.
void read_process_utilization(DeviceAsker& asker, WallTime taken, DeviceMemory& memory,
                              std::vector<GpuProcess>& processes);

}  // namespace berth::nvml
