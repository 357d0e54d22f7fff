#include "serve/alert_answer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace berth::serve {

namespace {

using Answer = nlohmann::json;

std::optional<std::string> text_at(const Answer& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

std::optional<std::int64_t> number_at(const Answer& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

std::optional<Alert> alert_from_answer(const Answer& object) {
  if (!object.is_object()) return std::nullopt;
  const auto rule = alert_rule_from_name(text_at(object, "rule").value_or(""));
  const auto severity = severity_from_name(text_at(object, "severity").value_or(""));
  if (!rule || !severity) return std::nullopt;
  Alert alert{.id = text_at(object, "id").value_or(""), .rule = *rule, .severity = *severity};
  if (const auto device = text_at(object, "device")) alert.device = DeviceId(*device);
  if (const auto index = number_at(object, "index")) alert.index = static_cast<int>(*index);
  alert.since = {number_at(object, "since_unix_ms").value_or(0)};
  alert.last_seen = {number_at(object, "last_seen_unix_ms").value_or(0)};
  if (const auto resolved = number_at(object, "resolved_unix_ms")) {
    alert.resolved = WallTime{*resolved};
  }
  alert.ending =
      ending_from_name(text_at(object, "ending").value_or("")).value_or(Ending::resolved);
  alert.summary = text_at(object, "summary").value_or("");
  alert.advice = text_at(object, "advice").value_or("");
  alert.simulated = text_at(object, "simulated");
  return alert;
}

}  // namespace

Result<AlertList> alert_list_from_json(std::string_view text) {
  constexpr int deepest = 10;
  const auto refuse = [] {
    return fail(ErrorCode::invalid, "what answers there is no list of alerts");
  };
  if (nesting_depth(text) > deepest) return refuse();
  const Answer root = Answer::parse(text, nullptr, false);
  if (!root.is_object() || !root.contains("alerts") || !root["alerts"].is_array()) return refuse();
  AlertList list{.is_of_server = true, .simulated = text_at(root, "simulated")};
  for (const Answer& one : root["alerts"]) {
    if (auto alert = alert_from_answer(one)) list.alerts.push_back(std::move(*alert));
  }
  const auto deliveries = root.find("deliveries");
  if (deliveries == root.end() || !deliveries->is_array()) return list;
  for (const Answer& one : *deliveries) {
    if (!one.is_object() || one.value("is_failing", Answer()) != Answer(true)) continue;
    list.failing.push_back({.receiver = text_at(one, "receiver").value_or("?"),
                            .trouble = text_at(one, "trouble").value_or("")});
  }
  return list;
}

}  // namespace berth::serve
