#pragma once
// The rules, by what they look at. Internal to health/.

#include "health/health.h"
#include "health/xid.h"

namespace berth::health {

using Findings = std::vector<HealthFinding>;

// rules_state.cc
Findings lost(const Device& device, const Snapshot& snapshot);
Findings unusable(const Device& device, const Snapshot& snapshot);
Findings recovery_action(const Device& device, const Snapshot& snapshot);
Findings xids(const Device& device, const Snapshot& snapshot);
/// How well a device is after an XID error for which this is to be done.
HealthState state_of(XidAction action);
// rules_memory.cc
Findings memory_errors(const Device& device, const Snapshot& snapshot);
Findings row_remapping(const Device& device, const Snapshot& snapshot);
Findings retired_pages(const Device& device, const Snapshot& snapshot);
Findings repairs(const Device& device, const Snapshot& snapshot);
Findings ghost_memory(const Device& device, const Snapshot& snapshot);
// rules_speed.cc
Findings heat(const Device& device, const Snapshot& snapshot);
Findings throttling(const Device& device, const Snapshot& snapshot);
Findings pcie_link(const Device& device, const Snapshot& snapshot);
Findings pcie_replays(const Device& device, const Snapshot& snapshot);
Findings fabric(const Device& device, const Snapshot& snapshot);
// rules_lost_time.cc
Findings lost_time(const Device& device, const Snapshot& snapshot);
// rules_nvlink.cc
Findings nvlink_down(const Device& device, const Snapshot& snapshot);
Findings nvlink_errors(const Device& device, const Snapshot& snapshot);

}  // namespace berth::health
