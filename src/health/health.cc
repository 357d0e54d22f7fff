#include "health/health.h"

#include <algorithm>
#include <array>

#include "base/tr.h"
#include "health/rules.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// What a rule finds. Nothing: all is well, or it could not be read.
using Rule = health::Findings (*)(const Device& device, const Snapshot& snapshot);

constexpr std::array<Rule, 17> rules = {
    health::lost,          health::unusable,      health::recovery_action, health::xids,
    health::memory_errors, health::row_remapping, health::retired_pages,   health::repairs,
    health::ghost_memory,  health::heat,          health::throttling,      health::lost_time,
    health::pcie_link,     health::pcie_replays,  health::fabric,          health::nvlink_down,
    health::nvlink_errors};

/// What could not be looked at although the device is there to be asked: a rule that finds nothing
/// in it has said nothing.
std::vector<std::string> not_examined(const Device& device, const Snapshot& snapshot) {
  std::vector<std::string> missing;
  const auto note = [&](std::string_view what, const auto& reading) {
    if (reading.has_value()) return;
    const Absent why = reading.why();
    if (why == Absent::failed || why == Absent::no_permission) {
      missing.push_back(std::string(what) + ": " + std::string(reason_of(why)));
    }
  };
  if (device.lost) return missing;  // then that is all there is to say
  const Details& details = device.details;
  note(as_key("recovery action"), details.cell(Detail::recovery_action));
  note(as_key("memory errors"), device.ecc_uncorrected);
  note(as_key("row remapping"), details.cell(Detail::remapped_rows_failed));
  note(as_key("retired pages"), details.cell(Detail::retired_pages_pending));
  note(as_key("repairs"), details.cell(Detail::unrepairable_memory));
  note(as_key("memory of nobody"), device.memory_used);
  note(as_key("division by MIG"), device.mig_mode);
  note(as_key("temperature"), device.temperature);
  note(as_key("throttling"), device.throttle_reasons);
  note(as_key("time lost"), details.cell(Detail::throttled_hardware_thermal));
  note(as_key("PCIe link"), device.pcie_width);
  note(as_key("NVLinks"), details.cell(Detail::nvlink_active));
  note(as_key("NVLink errors"), details.cell(Detail::nvlink_recoveries));
  note(as_key("fabric"), details.cell(Detail::fabric_state));
  note(as_key("kernel log"), snapshot.xids);
  return missing;
}

/// Whether what a device is judged by was asked for and not answered. What it does not have and
/// what we may not read is not that; of a device out of use that it is, is the finding.
bool is_unjudged(const Device& device, const Snapshot& snapshot) {
  if (device.lost || !device.unusable_because.empty()) return false;
  const Reading<std::uint64_t>& errors = device.ecc_uncorrected;
  return is_verdict_unread(device, snapshot) ||
         (!errors.has_value() && errors.why() == Absent::failed);
}

}  // namespace

bool is_examined(const Device& device) { return is_supported(device) && !device.parent; }

std::string_view name_of(HealthState state) {
  switch (state) {
    case HealthState::ok:
      return "ok";
    case HealthState::notice:
      return "notice";
    case HealthState::unknown:
      return "unknown";
    case HealthState::degraded:
      return "degraded";
    case HealthState::failed:
      return "failed";
  }
  return "failed";
}

DeviceHealth health_of(const Device& device, const Snapshot& snapshot) {
  DeviceHealth health{.device = device.id,
                      .index = device.index,
                      .state = HealthState::ok,
                      .findings = {},
                      .not_examined = not_examined(device, snapshot)};
  for (const Rule rule : rules) {
    for (HealthFinding& finding : rule(device, snapshot)) {
      health.findings.push_back(std::move(finding));
    }
  }
  std::stable_sort(
      health.findings.begin(), health.findings.end(),
      [](const HealthFinding& a, const HealthFinding& b) { return a.state > b.state; });
  if (!health.findings.empty()) health.state = health.findings.front().state;
  if (is_unjudged(device, snapshot)) health.state = std::max(health.state, HealthState::unknown);
  return health;
}

std::vector<DeviceHealth> health_of(const Snapshot& snapshot) {
  std::vector<DeviceHealth> devices;
  for (const Device& device : snapshot.devices) {
    if (is_examined(device)) devices.push_back(health_of(device, snapshot));
  }
  return devices;
}

std::optional<HealthState> worst_of(const std::vector<DeviceHealth>& devices) {
  std::optional<HealthState> worst;
  for (const DeviceHealth& device : devices) {
    if (!worst || device.state > *worst) worst = device.state;
  }
  return worst;
}

}  // namespace berth
