#pragma once
// What health says to those who may not look at it themselves: placement, which gives nobody a
// failed device, and a run, which is told when one of its own goes wrong. A MIG instance is as well
// as its card.

#include <vector>

#include "snapshot/device_fault.h"
#include "snapshot/snapshot.h"

namespace berth {

/// Devices that no job should be given, each with the first of its findings that says so.
[[nodiscard]] std::vector<DeviceFault> failed_devices(const Snapshot& snapshot);

/// All that is wrong enough to tell a job: findings of state `failed`, and every XID error.
[[nodiscard]] std::vector<DeviceFault> faults_of(const Snapshot& snapshot);

}  // namespace berth
