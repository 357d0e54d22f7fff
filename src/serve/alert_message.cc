#include "serve/alert_message.h"

#include <fmt/format.h>

#include <utility>

#include "alert/state.h"
#include "base/json_archive.h"
#include "base/text.h"

namespace berth::serve {

namespace {

/// Slack takes "<!channel>" for an order and wants these three written so; everybody who reads what
/// Slack reads knows them.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace

std::optional<AlertMessage> message_of(const AlertChange& change, std::string host) {
  AlertMessage message{
      .event = AlertMessage::Event::began, .alert = change.alert, .host = std::move(host)};
  if (change.what == AlertChange::What::began) return message;
  if (change.alert.ending == Ending::unwatched) return std::nullopt;
  message.event = change.alert.ending == Ending::unknown ? AlertMessage::Event::unknown
                                                         : AlertMessage::Event::resolved;
  return message;
}

AlertMessage test_message(std::string host, std::optional<std::string> simulated, WallTime now) {
  AlertMessage message{.event = AlertMessage::Event::test, .host = std::move(host)};
  message.alert.id = fmt::format("test-{}", now.unix_ms);
  message.alert.since = message.alert.last_seen = now;
  message.alert.summary = sentence("this is a test: alerts arrive here");
  message.alert.simulated = std::move(simulated);
  return message;
}

void write_alert(Archive& archive, Alert alert, const std::vector<std::string>& names) {
  alert.summary = Sentence(summary_with(alert.summary, names));
  walk(archive, alert, AlertFields::shown);
}

std::string to_json(const AlertMessage& message) {
  const Alert& alert = message.alert;
  const bool is_test = message.event == AlertMessage::Event::test;
  return write_json(JsonLayout::compact,
                    [&](Archive& archive) {
                      archive.derived("berth_alert", 1);
                      archive.derived("event", name_of(message.event));
                      archive.derived("text", escaped(sentence_of(message)));
                      archive.derived("host", message.host);
                      archive.derived("version", std::string(BERTH_VERSION));
                      archive.derived("simulated", alert.simulated);
                      archive.derived_object("alert", !is_test, [&] {
                        write_alert(archive, alert, user_names(alert));
                      });
                    }) +
         "\n";
}

std::string delivery_line(const AlertReceiver& receiver, const std::optional<Error>& mistake) {
  return write_json(JsonLayout::compact,
                    [&](Archive& archive) {
                      archive.derived("receiver", receiver.name);
                      archive.derived("kind", name_of(receiver.kind));
                      archive.derived("arrived", !mistake.has_value());
                      archive.derived("trouble",
                                      mistake ? std::optional(mistake->message()) : std::nullopt);
                    }) +
         "\n";
}

std::vector<std::string> variables_of(const AlertMessage& message) {
  const Alert& alert = message.alert;
  const bool is_test = message.event == AlertMessage::Event::test;
  std::vector<std::string> all;
  const auto set = [&](std::string_view name, std::string_view value) {
    // A name that a user chose must not end the value early.
    all.push_back(fmt::format("BERTH_ALERT_{}={}", name, printable(value)));
  };
  set("EVENT", name_of(message.event));
  set("TEXT", sentence_of(message));
  set("HOST", message.host);
  set("SIMULATED", alert.simulated.value_or(""));
  set("ID", alert.id);
  set("SUMMARY", summary_with(alert.summary, user_names(alert)));
  if (is_test) return all;
  set("RULE", name_of(alert.rule));
  set("SEVERITY", name_of(alert.severity));
  set("DEVICE", alert.device ? alert.device->text() : std::string());
  set("INDEX", alert.index ? std::to_string(*alert.index) : std::string());
  set("ADVICE", alert.advice.english());
  set("SINCE_UNIX_MS", std::to_string(alert.since.unix_ms));
  return all;
}

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
  AlertList::Failing failing{.receiver = "?"};
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
