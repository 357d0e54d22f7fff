#pragma once
// The rules, by what they look at. Internal to alert/.

#include <span>

#include "alert/rule_matches.h"

namespace berth::alert {

/// One look on its way through the rules.
struct Round {
  const AlertLook& look;
  const AlertSettings& settings;
  RuleMatches& found;

  [[nodiscard]] std::uint64_t threshold(AlertRule rule) const {
    return settings.of(rule).threshold;
  }
};

// rules_SUBJECT.cc
[[nodiscard]] std::span<const AlertRuleFacts> device_rules();
[[nodiscard]] std::span<const AlertRuleFacts> event_rules();
[[nodiscard]] std::span<const AlertRuleFacts> host_rules();

}  // namespace berth::alert
