#include "alert/json.h"

#include <nlohmann/json.hpp>

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json json_of(const Alert& alert, AlertFields fields, std::string_view summary) {
  const bool is_kept = fields == AlertFields::kept;
  Json json = {{"id", alert.id}, {"rule", name_of(alert.rule)}};
  if (is_kept) json["subject"] = alert.subject;
  json["severity"] = name_of(alert.severity);
  json["device"] = alert.device ? Json(alert.device->text()) : Json(nullptr);
  json["index"] = json_or_null(alert.index);
  json["since_unix_ms"] = alert.since.unix_ms;
  json["last_seen_unix_ms"] = alert.last_seen.unix_ms;
  json["resolved_unix_ms"] = alert.resolved ? Json(alert.resolved->unix_ms) : Json(nullptr);
  json["ending"] = alert.resolved ? Json(name_of(alert.ending)) : Json(nullptr);
  json["summary"] = summary;
  json["advice"] = alert.advice;
  if (!is_kept) {
    json["simulated"] = json_or_null(alert.simulated);
    return json;
  }
  Json users = Json::array();
  for (const AlertUser& user : alert.users) {
    users.push_back({{"uid", json_or_null(user.uid)}, {"name", user.name}});
  }
  json["users"] = std::move(users);
  return json;
}

}  // namespace berth
