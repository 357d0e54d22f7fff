#include "health/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

const std::vector<health::HealthRule>& health::all_rules() {
  static const auto all =
      rows_of<HealthRule>({state_rules, memory_rules, speed_rules, nvlink_rules});
  return all;
}

namespace {

/// What could not be looked at although the device is there to be asked.
std::vector<Sentence> not_examined(const Device& device, const Snapshot& snapshot) {
  std::vector<Sentence> missing;
  if (device.lost) return missing;  // then that is all there is to say
  std::vector<Sentence> of_machine;
  for (const health::HealthRule& rule : health::all_rules()) {
    for (const health::Reads& one : rule.reads) {
      const auto why = one.what.empty() ? std::nullopt : one.why_not(device, snapshot);
      if (!why) continue;
      (one.is_of_machine ? of_machine : missing)
          .push_back(sentence("{}: {}", Sentence(one.what), Sentence(reason_of(*why))));
    }
  }
  std::ranges::move(of_machine, std::back_inserter(missing));
  return missing;
}

/// Whether what a device is judged by was asked for and not answered. A reading that it lacks, or
/// that we may not read, does not count. A device out of use has that alone as its finding.
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

HealthState state_of(const Finding& finding) {
  switch (finding.severity) {
    case Severity::hint:
      return HealthState::notice;
    case Severity::warning:
      return HealthState::degraded;
    case Severity::error:
      return HealthState::failed;
  }
  return HealthState::failed;
}

Sentence advice_of(const Finding& finding) {
  return finding.steps.empty() ? Sentence() : finding.steps.front().what;
}

Finding health::found(Severity severity, std::string_view code, Sentence evidence,
                      Sentence advice) {
  Finding finding{.rule = std::string(code), .severity = severity};
  finding.evidence.push_back(std::move(evidence));
  if (!advice.empty()) finding.steps.push_back({std::move(advice), ""});
  return finding;
}

DeviceHealth health_of(const Device& device, const Snapshot& snapshot) {
  DeviceHealth health{.device = device.id,
                      .index = device.index,
                      .state = HealthState::ok,
                      .not_examined = not_examined(device, snapshot)};
  for (const health::HealthRule& rule : health::all_rules()) {
    std::ranges::move(rule.find(device, snapshot), std::back_inserter(health.findings));
  }
  sort_by_severity(health.findings);
  if (!health.findings.empty()) health.state = state_of(health.findings.front());
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

namespace {

/// The card whose health a device has; null where that is not judged.
const Device* card_of(const Device& device, const Snapshot& snapshot) {
  const Device* card = device.parent ? find_device(*device.parent, snapshot) : &device;
  return card != nullptr && is_examined(*card) ? card : nullptr;
}

std::vector<DeviceFault> failures_of(const Device& device, const Snapshot& snapshot) {
  std::vector<DeviceFault> faults;
  const Device* card = card_of(device, snapshot);
  if (card == nullptr) return faults;
  for (Finding& finding : health_of(*card, snapshot).findings) {
    if (finding.severity != Severity::error) continue;
    faults.push_back({device.id, card->lost ? FaultKind::lost : FaultKind::failed,
                      std::move(finding.rule), finding.evidence.front()});
  }
  return faults;
}

std::vector<DeviceFault> errors_of(const Device& device, const Snapshot& snapshot) {
  std::vector<DeviceFault> faults;
  const Device* card = card_of(device, snapshot);
  if (card == nullptr || !snapshot.xids.has_value() || !card->pci_address.has_value()) {
    return faults;
  }
  for (const XidEvent& event : *snapshot.xids.get()) {
    if (event.pci_address != *card->pci_address.get()) continue;
    const XidFacts facts = xid_facts(event.code);
    const bool is_the_jobs = gravity_of(facts.action) == XidGravity::of_job;
    faults.push_back({device.id, is_the_jobs ? FaultKind::job_error : FaultKind::error,
                      fmt::format("xid_{}", event.code),
                      sentence("XID {}: {}", event.code, Sentence(facts.meaning)),
                      event.pid.get()});
  }
  return faults;
}

}  // namespace

std::vector<DeviceFault> failed_devices(const Snapshot& snapshot) {
  std::vector<DeviceFault> failed;
  for (const Device& device : snapshot.devices) {
    auto faults = failures_of(device, snapshot);
    if (!faults.empty()) failed.push_back(std::move(faults.front()));
  }
  return failed;
}

std::vector<DeviceFault> faults_of(const Snapshot& snapshot) {
  std::vector<DeviceFault> all;
  for (const Device& device : snapshot.devices) {
    std::ranges::move(failures_of(device, snapshot), std::back_inserter(all));
    std::ranges::move(errors_of(device, snapshot), std::back_inserter(all));
  }
  return all;
}

}  // namespace berth
