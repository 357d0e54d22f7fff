#include "diagnose/doctor/rules.h"
#include "health/health.h"
#include "snapshot/device_fault.h"

namespace berth::doctor {

namespace {

Severity severity_of(HealthState state) {
  switch (state) {
    case HealthState::ok:
    case HealthState::notice:
      return Severity::hint;
    case HealthState::unknown:
    case HealthState::degraded:
      return Severity::warning;
    case HealthState::failed:
      return Severity::error;
  }
  return Severity::error;
}

std::string shown(const DeviceHealth& health) {
  return health.index ? std::to_string(*health.index) : health.device.text();
}

/// Taken away on purpose, or told better by the driver's own rules (no_driver.cc and others).
bool is_told_elsewhere(const HealthFinding& found) {
  if (found.code != "unusable") return false;
  return found.state == HealthState::notice || found.evidence == no_driver_has_it ||
         found.evidence == library_is_silent || found.evidence == nouveau_has_it;
}

Finding::Step ask_the_kernel() {
  return {sentence("see what the kernel says of it"), "sudo dmesg | grep -i -e nvrm -e segfault"};
}

Finding taken_over(const DeviceHealth& health, const HealthFinding& found) {
  Finding finding{.rule = "health_" + found.code,
                  .severity = severity_of(found.state),
                  .title = sentence("GPU {} is not well", shown(health)),
                  .evidence = {Sentence(found.evidence, {})},
                  .meaning = sentence("`berth health` says so; `berth run` gives nobody a card "
                                      "that it calls failed.")};
  const bool is_notice = found.state == HealthState::notice;
  if (is_notice) {
    finding.title = sentence("worth knowing of GPU {}", shown(health));
    finding.meaning = sentence("The card works, and `berth run` gives it out all the same.");
  }
  if (!found.advice.empty()) {
    finding.steps.push_back({Sentence(found.advice, {}), ""});
  } else if (is_notice) {
    finding.steps.push_back({sentence("nothing now; look again later"), "berth health"});
  } else {
    finding.steps.push_back(ask_the_kernel());
  }
  return finding;
}

/// The driver answers, and not what the card is judged by.
Finding not_judged(const DeviceHealth& health) {
  Finding finding{
      .rule = "health_unknown",
      .severity = severity_of(health.state),
      .title = sentence("how well GPU {} is cannot be told", shown(health)),
      .evidence = {},
      .meaning = sentence("Where the driver does not tell whether a card has failed, `berth run` "
                          "passes over it (--allow-failed takes it all the same)."),
      .steps = {ask_the_kernel()}};
  for (const std::string& missing : health.not_examined) {
    finding.evidence.push_back(Sentence(missing, {}));
  }
  return finding;
}

}  // namespace

Findings health_findings(const Examined& host) {
  Findings findings;
  for (const DeviceHealth& health : health_of(host.snapshot)) {
    for (const HealthFinding& found : health.findings) {
      if (!is_told_elsewhere(found)) findings.push_back(taken_over(health, found));
    }
    if (health.state == HealthState::unknown) findings.push_back(not_judged(health));
  }
  return findings;
}

}  // namespace berth::doctor
