#include "serve/alert_answer.h"

#include <utility>

#include "base/json_archive.h"

namespace berth::serve {

namespace {

/// As the server said it, which may be of another version.
struct SaidAlert {
  Alert alert;
  std::optional<AlertRule> rule;
  std::optional<AlertSeverity> severity;
};

void walk(Archive& archive, SaidAlert& said) {
  Alert& alert = said.alert;
  std::string rule;
  std::string severity;
  std::string ending;
  archive.member("id", alert.id);
  archive.member("rule", rule);
  archive.member("severity", severity);
  archive.member("device", alert.device);
  archive.member("index", alert.index);
  archive.member("since_unix_ms", alert.since);
  archive.member("last_seen_unix_ms", alert.last_seen);
  archive.member("resolved_unix_ms", alert.resolved);
  archive.member("ending", ending);
  archive.member("summary", alert.summary);
  archive.member("advice", alert.advice);
  archive.member("simulated", alert.simulated);
  said.rule = alert_rule_from_name(rule);
  said.severity = severity_from_name(severity);
  alert.ending = ending_from_name(ending).value_or(Ending::resolved);
}

struct SaidDelivery {
  AlertList::Failing failing{.receiver = "?", .trouble = {}};
  bool is_failing = false;
};

void walk(Archive& archive, SaidDelivery& said) {
  archive.member("receiver", said.failing.receiver);
  archive.member("is_failing", said.is_failing);
  archive.member("trouble", said.failing.trouble);
}

}  // namespace

Result<AlertList> alert_list_from_json(std::string_view text) {
  AlertList list{.is_of_server = true};
  std::vector<std::optional<SaidAlert>> alerts;
  std::vector<std::optional<SaidDelivery>> deliveries;
  const auto walk_answer = [&](Archive& archive) {
    archive.member("simulated", list.simulated);
    archive.member("alerts", alerts, Form::required);
    archive.member("deliveries", deliveries);
  };
  if (!read_json(text, walk_answer, WrongValues::absent)) {
    return fail(ErrorCode::invalid, "what answers there is no list of alerts");
  }
  for (auto& said : alerts) {
    if (!said || !said->rule || !said->severity) continue;
    said->alert.rule = *said->rule;
    said->alert.severity = *said->severity;
    list.alerts.push_back(std::move(said->alert));
  }
  for (auto& said : deliveries) {
    if (said && said->is_failing) list.failing.push_back(std::move(said->failing));
  }
  return list;
}

}  // namespace berth::serve
