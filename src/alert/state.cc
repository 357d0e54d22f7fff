#include "alert/state.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "alert/json.h"
#include "base/text.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_undelivered = 4096;
constexpr std::size_t most_users = 64;

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view word_of(AlertChange::What what) {
  return what == AlertChange::What::began ? "began" : "ended";
}

Json json_of(const std::vector<Alert>& alerts) {
  Json list = Json::array();
  for (const Alert& alert : alerts) {
    list.push_back(json_of(alert, AlertFields::kept, alert.summary));
  }
  return list;
}

// ------------------------------------------------------------------------------------------
// reading

/// Takes values out of an object; once one is not what it must be, `is_right` stays false.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object), is_right_(object.is_object()) {}

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string()) return wrong<std::string>();
    const auto& text = value->get_ref<const std::string&>();
    return text.size() <= longest_text ? text : wrong<std::string>();
  }
  std::optional<std::string> text_or_null(const char* key) {
    return is_null(key) ? std::nullopt : std::optional(text(key));
  }
  std::int64_t number(const char* key, std::int64_t least, std::int64_t most) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_integer()) return wrong<std::int64_t>();
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) {
      return wrong<std::int64_t>();
    }
    const auto number = value->get<std::int64_t>();
    return number >= least && number <= most ? number : wrong<std::int64_t>();
  }
  WallTime time(const char* key) {
    constexpr std::int64_t latest = 253'402'300'799'000;  // the end of the year 9999
    return {number(key, 0, latest)};
  }
  const Json& list(const char* key, std::size_t most) {
    static const Json nothing = Json::array();
    const Json* value = find(key);
    if (value != nullptr && value->is_array() && value->size() <= most) return *value;
    is_right_ = false;
    return nothing;
  }
  const Json& object(const char* key) {
    static const Json nothing = Json::object();
    const Json* value = find(key);
    if (value != nullptr && value->is_object()) return *value;
    is_right_ = false;
    return nothing;
  }
  bool is_null(const char* key) const {
    const Json* value = find(key);
    return value == nullptr || value->is_null();
  }
  template <class T, class Named>
  T word(const char* key, Named named) {
    const auto value = named(text(key));
    return value ? *value : wrong<T>();
  }
  void require(bool right) { is_right_ = is_right_ && right; }
  [[nodiscard]] bool is_right() const { return is_right_; }

 private:
  const Json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  template <class T>
  T wrong() {
    is_right_ = false;
    return T{};
  }

  const Json& object_;
  bool is_right_;
};

std::optional<AlertUser> user_from(const Json& object) {
  constexpr std::int64_t most_uid = 0xffff'fffe;
  Fields fields(object);
  AlertUser user{.uid = std::nullopt, .name = fields.text("name")};
  if (!fields.is_null("uid")) user.uid = static_cast<uid_t>(fields.number("uid", 0, most_uid));
  return fields.is_right() ? std::optional(std::move(user)) : std::nullopt;
}

std::optional<Alert> alert_from(const Json& object) {
  constexpr std::int64_t most_index = 1 << 20;
  Fields fields(object);
  Alert alert;
  alert.id = fields.text("id");
  alert.rule = fields.word<AlertRule>("rule", alert_rule_from_name);
  alert.subject = fields.text("subject");
  alert.severity = fields.word<AlertSeverity>("severity", severity_from_name);
  if (const auto device = fields.text_or_null("device")) alert.device = DeviceId(*device);
  if (!fields.is_null("index")) {
    alert.index = static_cast<int>(fields.number("index", 0, most_index));
  }
  alert.since = fields.time("since_unix_ms");
  alert.last_seen = fields.time("last_seen_unix_ms");
  if (!fields.is_null("resolved_unix_ms")) alert.resolved = fields.time("resolved_unix_ms");
  // The first berths that wrote this knew of one ending alone.
  const bool has_ending = alert.resolved && !fields.is_null("ending");
  if (has_ending) alert.ending = fields.word<Ending>("ending", ending_from_name);
  alert.summary = fields.text("summary");
  alert.advice = fields.text("advice");
  for (const Json& one : fields.list("users", most_users)) {
    auto user = user_from(one);
    fields.require(user.has_value());
    if (user) alert.users.push_back(std::move(*user));
  }
  fields.require(!alert.id.empty());
  return fields.is_right() ? std::optional(std::move(alert)) : std::nullopt;
}

enum class Life { going_on, over };

std::vector<Alert> alerts_from(Fields& fields, const char* key, std::size_t most, Life life) {
  std::vector<Alert> alerts;
  for (const Json& one : fields.list(key, most)) {
    auto alert = alert_from(one);
    fields.require(alert && alert->resolved.has_value() == (life == Life::over));
    if (alert) alerts.push_back(std::move(*alert));
  }
  return alerts;
}

void read_environment(const Json& object, Fields& whole, AlertState& state) {
  Fields fields(object);
  const Json& facts = fields.object("facts");
  fields.require(facts.size() <= EnvironmentMemory::most_facts);
  for (const auto& [what, is] : facts.items()) {
    const bool is_short = is.is_string() && what.size() <= longest_text &&
                          is.get_ref<const std::string&>().size() <= longest_text;
    fields.require(is_short);
    if (is_short) state.facts[what] = is.get<std::string>();
  }
  for (const Json& one : fields.list("changes", EnvironmentMemory::most_changes)) {
    Fields change(one);
    state.changes.push_back({.what = change.text("what"),
                             .from = change.text_or_null("from"),
                             .to = change.text_or_null("to"),
                             .at = change.time("at_unix_ms")});
    fields.require(change.is_right());
  }
  whole.require(fields.is_right());
}

std::optional<AlertChange::What> what_from_name(std::string_view name) {
  if (name == "began") return AlertChange::What::began;
  if (name == "ended") return AlertChange::What::ended;
  return std::nullopt;
}

void read_undelivered(Fields& fields, AlertState& state) {
  for (const Json& one : fields.list("undelivered", most_undelivered)) {
    Fields message(one);
    state.undelivered.push_back({.receiver = message.text("receiver"),
                                 .what = message.word<AlertChange::What>("event", what_from_name),
                                 .alert = message.text("alert")});
    fields.require(message.is_right());
  }
}

}  // namespace

std::string to_json(const AlertState& state) {
  Json changes = Json::array();
  for (const EnvironmentChange& change : state.changes) {
    changes.push_back({{"what", change.what},
                       {"from", json_or_null(change.from)},
                       {"to", json_or_null(change.to)},
                       {"at_unix_ms", change.at.unix_ms}});
  }
  Json facts = Json::object();
  for (const auto& [what, is] : state.facts) facts[what] = is;
  Json undelivered = Json::array();
  for (const Undelivered& one : state.undelivered) {
    undelivered.push_back(
        {{"receiver", one.receiver}, {"event", word_of(one.what)}, {"alert", one.alert}});
  }
  const Json root = {
      {"berth_alerts", AlertState::format_version},
      {"active", json_of(state.active)},
      {"ended", json_of(state.ended)},
      {"environment", {{"facts", std::move(facts)}, {"changes", std::move(changes)}}},
      {"undelivered", std::move(undelivered)}};
  // Names are bytes of strangers: what is no UTF-8 becomes U+FFFD.
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<AlertState> alert_state_from_json(std::string_view text) {
  constexpr int deepest = 10;
  const auto refuse = [] { return fail(ErrorCode::invalid, "not a file of alerts"); };
  if (text.size() > longest_alert_state || nesting_depth(text) > deepest) return refuse();
  const Json root = Json::parse(text, nullptr, false);
  Fields fields(root);
  const auto version = fields.number("berth_alerts", 1, 1'000'000);
  if (!fields.is_right()) return refuse();
  if (version > AlertState::format_version) {
    return fail(ErrorCode::unsupported, "written by a newer berth: use that one");
  }
  AlertState state;
  state.active = alerts_from(fields, "active", AlertBook::most_active, Life::going_on);
  state.ended = alerts_from(fields, "ended", AlertBook::most_ended, Life::over);
  read_environment(fields.object("environment"), fields, state);
  read_undelivered(fields, state);
  if (!fields.is_right()) return refuse();
  return state;
}

}  // namespace berth
