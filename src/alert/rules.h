#pragma once
// A rule's row: what it looks for, how bad that is, and how long it has to last. A setting
// changes it; nothing else knows a rule's numbers.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "alert/alert.h"

namespace berth {

struct Device;
struct DeviceHealth;
namespace alert {
struct Round;
}  // namespace alert

/// What a rule's threshold counts.
enum class ThresholdUnit { none, bytes, percent };

struct AlertRuleFacts {
  AlertRule rule;
  std::string_view name;
  AlertSeverity severity;  // of an XID it is the least; the error's own says more
  std::string_view finds;  // for people, in English
  ThresholdUnit unit = ThresholdUnit::none;
  std::uint64_t threshold = 0;   // where there is a unit
  std::chrono::seconds lasting;  // seen for so long, it begins
  std::chrono::seconds hold;     // not seen for so long, it is over
  /// Not seen for so long, it does not last: what is looked at once a second may flicker.
  std::chrono::seconds gap{};
  /// It happened at a time, rather than being so now: it begins at once.
  bool is_event = false;
  // One of these. It says what it sees in a look, of a device in it (MIG instances too), or of a
  // card. Asked where the rule is on.
  void (*see)(const alert::Round& round) = nullptr;
  void (*see_device)(const alert::Round& round, const Device& device) = nullptr;
  void (*see_card)(const alert::Round& round, const Device& card,
                   const DeviceHealth& health) = nullptr;
};
/// By their numbers. Their rows stand with their functions, in rules_SUBJECT.cc.
[[nodiscard]] std::span<const AlertRuleFacts, alert_rule_count> alert_rules();
[[nodiscard]] const AlertRuleFacts& facts_of(AlertRule rule);

struct AlertRuleSettings {
  bool is_on = true;
  std::uint64_t threshold = 0;
  std::chrono::milliseconds lasting{};
  std::chrono::milliseconds hold{};
  friend bool operator==(const AlertRuleSettings&, const AlertRuleSettings&) = default;
};

/// As the table has them until somebody says otherwise.
class AlertSettings {
 public:
  AlertSettings();
  [[nodiscard]] const AlertRuleSettings& of(AlertRule rule) const {
    return rules_[static_cast<std::size_t>(rule)];
  }
  [[nodiscard]] AlertRuleSettings& of(AlertRule rule) {
    return rules_[static_cast<std::size_t>(rule)];
  }
  friend bool operator==(const AlertSettings&, const AlertSettings&) = default;

 private:
  std::array<AlertRuleSettings, alert_rule_count> rules_;
};

}  // namespace berth
