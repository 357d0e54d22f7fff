#include "alert/state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_archive.h"

namespace berth {

namespace {

constexpr std::size_t most_undelivered = 4096;
constexpr auto whats = std::to_array<std::pair<AlertChange::What, std::string_view>>({
    {AlertChange::What::began, "began"},
    {AlertChange::What::ended, "ended"},
});

void refuse_impossible(Archive& archive, const Alert& alert) {
  const auto is_time = [](WallTime time) {
    constexpr std::int64_t latest = 253'402'300'799'000;  // the end of the year 9999
    return time.unix_ms >= 0 && time.unix_ms <= latest;
  };
  if (alert.id.empty()) archive.mistake(sentence("an alert has no id"));
  if (alert.index.value_or(0) < 0) archive.mistake(sentence("index is negative"));
  for (const WallTime time : {alert.since, alert.last_seen, alert.resolved.value_or(WallTime{})}) {
    if (!is_time(time)) archive.mistake(sentence("a time is out of range"));
  }
}

}  // namespace

// Found by the namespace of what they walk, hence not in the nameless one.
static void walk(Archive& archive, Alert& alert) {
  walk(archive, alert, AlertFields::kept);
  refuse_impossible(archive, alert);
}

static void walk(Archive& archive, EnvironmentChange& change) {
  archive.member("what", change.what, Form::required);
  archive.member("from", change.from);
  archive.member("to", change.to);
  archive.member("at_unix_ms", change.at, Form::required);
}

static void walk(Archive& archive, Undelivered& message) {
  archive.member("receiver", message.receiver, Form::required);
  if (!word_member(archive, "event", message.what, whats))
    archive.mistake(sentence("an unknown event"));
  archive.member("alert", message.alert, Form::required);
}

static void walk(Archive& archive, AlertState& state) {
  const auto is_over = [](const Alert& alert) { return alert.resolved.has_value(); };
  std::vector<std::pair<std::string, std::string>> facts(state.facts.begin(), state.facts.end());
  archive.member("active", state.active, AlertTracker::most_active, Form::required);
  archive.member("ended", state.ended, AlertTracker::most_ended, Form::required);
  if (std::ranges::any_of(state.active, is_over) || !std::ranges::all_of(state.ended, is_over)) {
    archive.mistake(sentence("what goes on has an end, or what is over has none"));
  }
  const auto walk_environment = [&] {
    archive.member("facts", facts, Form::required);
    archive.member("changes", state.changes, EnvironmentMemory::most_changes, Form::required);
  };
  archive.object("environment", walk_environment, Form::required);
  if (facts.size() > EnvironmentMemory::most_facts) archive.mistake(sentence("too many facts"));
  archive.member("undelivered", state.undelivered, most_undelivered, Form::required);
  state.facts = {facts.begin(), facts.end()};
}

std::string to_json(const AlertState& state) {
  AlertState copy = state;
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      archive.derived("berth_alerts", AlertState::format_version);
                      walk(archive, copy);
                    }) +
         "\n";
}

Result<AlertState> alert_state_from_json(std::string_view text) {
  AlertState state;
  int version = 0;
  const auto walk_known = [&](Archive& archive) {
    archive.member("berth_alerts", version);
    if (version == AlertState::format_version) walk(archive, state);
  };
  const bool is_read = text.size() <= longest_alert_state && read_json(text, walk_known);
  if (version > AlertState::format_version) {
    return fail(ErrorCode::unsupported, "written by a newer berth: use that one");
  }
  if (!is_read || version < 1) return fail(ErrorCode::invalid, "not a file of alerts");
  return state;
}

namespace {

template <class E>
void word(Archive& archive, std::string_view key, E& value,
          std::optional<E> (*from_name)(std::string_view)) {
  std::string text(name_of(value));
  archive.member(key, text, Form::required);
  const auto known = from_name(text);
  if (!known) return archive.mistake(sentence("{} has an unknown word", key));
  value = *known;
}

/// The ending of an alert that is over. The first versions of this file knew one ending alone.
void walk_ending(Archive& archive, Alert& alert) {
  std::optional<std::string> ending;
  if (alert.resolved) ending = name_of(alert.ending);
  archive.member("ending", ending);
  if (!archive.is_reading() || !alert.resolved || !ending) return;
  const auto known = ending_from_name(*ending);
  if (!known) return archive.mistake(sentence("ending has an unknown word"));
  alert.ending = *known;
}

}  // namespace

// Found by the namespace of what it walks, hence not in the nameless one.
static void walk(Archive& archive, AlertUser& user) {
  archive.member("uid", user.uid);
  archive.member("name", user.name, Form::required);
}

void walk(Archive& archive, Alert& alert, AlertFields fields) {
  const bool is_kept = fields == AlertFields::kept;
  constexpr std::size_t most_users = 64;
  archive.member("id", alert.id, Form::required);
  word(archive, "rule", alert.rule, alert_rule_from_name);
  if (is_kept) archive.member("subject", alert.subject, Form::required);
  word(archive, "severity", alert.severity, severity_from_name);
  archive.member("device", alert.device);
  archive.member("index", alert.index);
  archive.member("since_unix_ms", alert.since, Form::required);
  archive.member("last_seen_unix_ms", alert.last_seen, Form::required);
  archive.member("resolved_unix_ms", alert.resolved);
  walk_ending(archive, alert);
  archive.member("summary", alert.summary, Form::required);
  archive.member("advice", alert.advice, Form::required);
  if (is_kept) archive.member("users", alert.users, most_users, Form::required);
  if (!is_kept) archive.member("simulated", alert.simulated);
}

}  // namespace berth
