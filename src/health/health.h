#pragma once
// How well each device is: rules over a snapshot. Each looks at a few readings and either finds
// something or keeps quiet. What a rule could not read is said as that: a device nobody could
// examine is not well.

#include <optional>
#include <string_view>
#include <vector>

#include "base/sentence.h"
#include "snapshot/device_fault.h"
#include "snapshot/finding.h"
#include "snapshot/snapshot.h"

namespace berth {

/// `notice` worth knowing, nothing to do now. `unknown` nothing worse was found, but the driver
/// answered a deciding question with an error; no finding has this state. `degraded` it works, not
/// as it should. `failed` it is not to be used.
enum class HealthState { ok, notice, unknown, degraded, failed };
[[nodiscard]] std::string_view name_of(HealthState state);

/// The state of a device if this is its worst finding.
[[nodiscard]] HealthState state_of(const Finding& finding);
/// What to do next; may be empty.
[[nodiscard]] Sentence advice_of(const Finding& finding);

struct DeviceHealth {
  DeviceId device;
  std::optional<int> index;
  HealthState state = HealthState::ok;  // of the worst finding, or unknown
  Findings findings;                    // worst first; each has one sentence of evidence
  std::vector<Sentence> not_examined;   // "memory errors: no permission to read it"
};

/// Whether it is looked at: a whole card of a supported kind.
[[nodiscard]] bool is_examined(const Device& device);

/// Devices in the snapshot's order; MIG instances with their card, not by themselves. Devices whose
/// readings are not supported yet are left out.
[[nodiscard]] std::vector<DeviceHealth> health_of(const Snapshot& snapshot);
[[nodiscard]] DeviceHealth health_of(const Device& device, const Snapshot& snapshot);

/// The worst of them; nothing: there is no device.
[[nodiscard]] std::optional<HealthState> worst_of(const std::vector<DeviceHealth>& devices);

// What health tells placement and runs, which must not depend on it. Placement gives nobody a
// failed device. A run is told when one of its devices goes wrong. A MIG instance is as well as its
// card.

/// Devices that no job should be given, each with the first of its findings that says so.
[[nodiscard]] std::vector<DeviceFault> failed_devices(const Snapshot& snapshot);

/// All that is wrong enough to tell a job: findings of state `failed`, and every XID error.
[[nodiscard]] std::vector<DeviceFault> faults_of(const Snapshot& snapshot);

}  // namespace berth
