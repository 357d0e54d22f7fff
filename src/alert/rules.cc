#include "alert/rules.h"

#include <algorithm>

#include "alert/rules_parts.h"
#include "base/check.h"

namespace berth {

// A look comes once a second, details every ten. An alert that wants action at once begins after a
// few looks. Heat and a job's pause mend themselves: they begin after the time in which they
// usually do.
std::span<const AlertRuleFacts, alert_rule_count> alert_rules() {
  static const auto table = [] {
    std::array<AlertRuleFacts, alert_rule_count> by_number{};
    for (const auto rules : {alert::device_rules, alert::event_rules, alert::host_rules}) {
      for (const AlertRuleFacts& one : rules()) {
        const auto number = static_cast<std::size_t>(one.rule);
        BERTH_CHECK(number < by_number.size(), "the last rule is counted");
        by_number[number] = one;
      }
    }
    return by_number;
  }();
  return table;
}

const AlertRuleFacts& facts_of(AlertRule rule) {
  return alert_rules()[static_cast<std::size_t>(rule)];
}

std::string_view name_of(AlertRule rule) { return facts_of(rule).name; }

std::optional<AlertRule> alert_rule_from_name(std::string_view name) {
  const auto rules = alert_rules();
  const auto found = std::ranges::find(rules, name, &AlertRuleFacts::name);
  return found == rules.end() ? std::nullopt : std::optional(found->rule);
}

std::string_view name_of(AlertSeverity severity) {
  switch (severity) {
    case AlertSeverity::notice:
      return "notice";
    case AlertSeverity::warning:
      return "warning";
    case AlertSeverity::critical:
      return "critical";
  }
  return "critical";
}

std::optional<AlertSeverity> severity_from_name(std::string_view name) {
  for (const AlertSeverity one :
       {AlertSeverity::notice, AlertSeverity::warning, AlertSeverity::critical}) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::resolved:
      return "resolved";
    case Ending::unknown:
      return "unknown";
    case Ending::unwatched:
      return "unwatched";
  }
  return "unknown";
}

std::optional<Ending> ending_from_name(std::string_view name) {
  for (const Ending one : {Ending::resolved, Ending::unknown, Ending::unwatched}) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}

AlertSettings::AlertSettings() {
  for (const AlertRuleFacts& facts : alert_rules()) {
    of(facts.rule) = {
        .is_on = true, .threshold = facts.threshold, .lasting = facts.lasting, .hold = facts.hold};
  }
}

}  // namespace berth
