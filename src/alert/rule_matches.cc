#include "alert/rule_matches.h"

#include "alert/rules_parts.h"
#include "health/health.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

bool is_of_devices(const AlertRuleFacts& rule) {
  return rule.see_device != nullptr || rule.see_card != nullptr;
}

void see_device(const alert::Round& round, const Device& device) {
  // An instance is as well as its card.
  const auto health = device.parent ? DeviceHealth() : health_of(device, round.look.snapshot);
  for (const AlertRuleFacts& rule : alert_rules()) {
    if (!round.settings.of(rule.rule).is_on) continue;
    if (rule.see_device != nullptr) rule.see_device(round, device);
    if (rule.see_card != nullptr && !device.parent) rule.see_card(round, device, health);
  }
}

void see_devices(const alert::Round& round) {
  const Snapshot& snapshot = round.look.snapshot;
  const bool driver_failed = has_driver_failed(snapshot);
  for (const AlertRuleFacts& rule : alert_rules()) {
    if (!is_of_devices(rule) || (!driver_failed && round.look.is_fresh)) continue;
    round.found.unknown.push_back({.rule = rule.rule, .subject = std::nullopt});
  }
  if (!round.look.is_fresh) return;
  for (const Device& device : snapshot.devices) {
    round.found.devices.push_back(device.id);
    if (is_supported(device)) see_device(round, device);
  }
}

}  // namespace

RuleMatches matches(const AlertLook& look, const AlertSettings& settings) {
  RuleMatches found;
  const alert::Round round{.look = look, .settings = settings, .found = found};
  see_devices(round);
  for (const AlertRuleFacts& rule : alert_rules()) {
    if (rule.see != nullptr && settings.of(rule.rule).is_on) rule.see(round);
  }
  return found;
}

}  // namespace berth
