// Alerts and their rules for programs.

#include "alert/json.h"
#include "base/json_archive.h"
#include "view/alert_text.h"

namespace berth {

namespace {

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

void write_rule(Archive& archive, const AlertRuleFacts& facts, const AlertRuleSettings& set) {
  std::optional threshold(set.threshold);
  if (facts.unit == ThresholdUnit::none) threshold.reset();
  archive.derived("rule", facts.name);
  archive.derived("severity", name_of(facts.severity));
  archive.derived("on", set.is_on);
  archive.derived("threshold", threshold);
  archive.derived("threshold_unit", word_of(facts.unit), Form::nullable);
  archive.derived("for_ms", set.lasting.count());
  archive.derived("hold_ms", set.hold.count());
  archive.derived("finds", facts.finds);
}

}  // namespace

std::string alerts_json(const AlertList& list) {
  const std::string_view from = list.is_of_server ? "server" : "one look";
  std::vector<std::string> failing;
  for (const AlertList::Failing& one : list.failing) failing.push_back(one.receiver);
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_alerts", 1);
                      archive.derived("from", from);
                      archive.derived("simulated", list.simulated);
                      archive.derived_list("alerts", list.alerts, [&](Alert alert) {
                        walk(archive, alert, AlertFields::shown);
                      });
                      archive.derived("not_reached", failing);
                    }) +
         "\n";
}

std::string alert_rules_json(const AlertSettings& settings) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_alert_rules", 1);
                      archive.derived_list("rules", alert_rules(), [&](const AlertRuleFacts& one) {
                        write_rule(archive, one, settings.of(one.rule));
                      });
                    }) +
         "\n";
}

}  // namespace berth
