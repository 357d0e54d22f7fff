#include "alert/json.h"

namespace berth {

namespace {

template <class E>
void word(Archive& archive, std::string_view key, E& value,
          std::optional<E> (*from_name)(std::string_view)) {
  std::string text(name_of(value));
  archive.member(key, text, Form::required);
  const auto known = from_name(text);
  if (!known) return archive.mistake(std::string(key) + " has an unknown word");
  value = *known;
}

/// Of one that is over. The first berths that wrote this knew of one ending alone.
void walk_ending(Archive& archive, Alert& alert) {
  std::optional<std::string> ending;
  if (alert.resolved) ending = name_of(alert.ending);
  archive.member("ending", ending);
  if (!archive.is_reading() || !alert.resolved || !ending) return;
  const auto known = ending_from_name(*ending);
  if (!known) return archive.mistake("ending has an unknown word");
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
