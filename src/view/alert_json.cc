// Alerts and their rules for programs.

#include <nlohmann/json.hpp>

#include "alert/json.h"
#include "base/text.h"
#include "view/alert_text.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string dumped(const Json& root) {
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string_view word_of(ThresholdUnit unit) {
  switch (unit) {
    case ThresholdUnit::bytes:
      return "bytes";
    case ThresholdUnit::percent:
      return "percent";
    case ThresholdUnit::none:
      return "";
  }
  return "";
}

}  // namespace

std::string alerts_json(const AlertList& list) {
  Json alerts = Json::array();
  for (const Alert& alert : list.alerts) {
    alerts.push_back(json_of(alert, AlertFields::shown, alert.summary));
  }
  Json failing = Json::array();
  for (const AlertList::Failing& one : list.failing) failing.push_back(one.receiver);
  return dumped({{"berth_alerts", 1},
                 {"from", list.is_of_server ? "server" : "one look"},
                 {"simulated", json_or_null(list.simulated)},
                 {"alerts", std::move(alerts)},
                 {"not_reached", std::move(failing)}});
}

std::string alert_rules_json(const AlertSettings& settings) {
  Json rules = Json::array();
  for (const AlertRuleFacts& facts : alert_rules()) {
    const AlertRuleSettings& set = settings.of(facts.rule);
    const bool has_threshold = facts.unit != ThresholdUnit::none;
    rules.push_back({{"rule", facts.name},
                     {"severity", name_of(facts.severity)},
                     {"on", set.is_on},
                     {"threshold", has_threshold ? Json(set.threshold) : Json(nullptr)},
                     {"threshold_unit", has_threshold ? Json(word_of(facts.unit)) : Json(nullptr)},
                     {"for_ms", set.lasting.count()},
                     {"hold_ms", set.hold.count()},
                     {"finds", facts.finds}});
  }
  return dumped({{"berth_alert_rules", 1}, {"rules", std::move(rules)}});
}

}  // namespace berth
