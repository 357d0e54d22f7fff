// The findings of berth health, for a user who wants to compute here.

#include "health/health.h"
#include "base/sentence.h"
#include "diagnose/doctor/doctor.h"
#include "snapshot/device_fault.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

std::string shown(const DeviceHealth& health) {
  return health.index ? std::to_string(*health.index) : health.device.text();
}

/// Taken away on purpose, or told better by the driver's own rules (driver.cc).
bool is_told_elsewhere(const Finding& found, const Device* device) {
  if (found.rule != "unusable" || device == nullptr) return false;
  const Unusable why = device->unusable_because.kind();
  return found.severity == Severity::hint || why == Unusable::no_driver ||
         why == Unusable::library_silent || why == Unusable::nouveau;
}

/// In the words of its maker. Null: it is among the devices no more.
Finding::Step ask_the_kernel(const Device* device) {
  if (device != nullptr && facts_of(device->kind).reset_command.empty()) {
    return {Sentence(facts_of(device->kind).log_advice), ""};
  }
  return {sentence("see what the kernel says of it"), "sudo dmesg | grep -i -e nvrm -e segfault"};
}

/// What the finding means for a user who wants to compute there. That depends on the whole card.
Sentence meaning_of(const Finding& found, const DeviceHealth& health) {
  if (health.state == HealthState::failed) {
    return sentence("`berth health` calls the card failed; `berth run` gives it to nobody.");
  }
  if (found.rule == "memory_of_nobody") {
    return sentence("The card works; `berth run` does not give the whole of it while that is so.");
  }
  if (found.severity == Severity::hint) {
    return sentence("The card works, and `berth run` gives it out all the same.");
  }
  return sentence("`berth health` says so; `berth run` gives the card out all the same.");
}

Finding taken_over(const DeviceHealth& health, const Device* device, Finding found) {
  const bool is_notice = found.severity == Severity::hint;
  found.meaning = meaning_of(found, health);
  found.rule = "health_" + found.rule;
  found.title = is_notice ? sentence("worth knowing of GPU {}", shown(health))
                          : sentence("GPU {} is not well", shown(health));
  if (!found.steps.empty()) return found;
  found.steps.push_back(
      is_notice ? Finding::Step{sentence("nothing now; look again later"), "berth health"}
                : ask_the_kernel(device));
  return found;
}

/// The driver answers, and not what the card is judged by.
Finding not_judged(const DeviceHealth& health, const Device* device, bool is_passed_over) {
  Finding finding{
      .rule = "health_unknown",
      .severity = Severity::warning,
      .title = sentence("how well GPU {} is cannot be told", shown(health)),
      .meaning = is_passed_over
                     ? sentence("Where the driver does not tell whether a card has failed, `berth "
                                "run` passes over it. --allow-failed takes it all the same.")
                     : sentence("`berth health` says so; `berth run` gives the card out all the "
                                "same."),
      .steps = {ask_the_kernel(device)}};
  for (const Sentence& missing : health.not_examined) {
    finding.evidence.push_back(missing);
  }
  return finding;
}

Findings health_findings(const Examined& host) {
  Findings findings;
  for (const DeviceHealth& health : health_of(host.snapshot)) {
    const Device* device = find_device(health.device, host.snapshot);
    for (const Finding& found : health.findings) {
      if (!is_told_elsewhere(found, device)) findings.push_back(taken_over(health, device, found));
    }
    const bool is_passed_over = health.state != HealthState::failed && device != nullptr &&
                                obstacle_of(*device, host.snapshot) == Obstacle::unjudged;
    if (health.state == HealthState::unknown || is_passed_over) {
      findings.push_back(not_judged(health, device, is_passed_over));
    }
  }
  return findings;
}

}  // namespace

std::span<const DoctorRule> health_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = health_findings,
       .reports = {{"health_…", "by health",
                    "each finding of `berth health`: XID errors, ECC, remapping, PCIe, heat, "
                    "NVLink, lost cards; `health_unknown`: the driver answers, and not what tells "
                    "whether a card has failed",
                    "its advice; where it has none, looking again later"}}},
  };
  return rules;
}

}  // namespace berth::doctor
