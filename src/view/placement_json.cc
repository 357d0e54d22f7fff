// A placement for programs.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "snapshot/questions.h"
#include "view/placement_text.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

Json device_json(const DeviceId& id, std::optional<int> index, const Snapshot& snapshot) {
  Json object = Json::object();
  object["id"] = id.text();
  object["index"] = index ? Json(*index) : Json(nullptr);
  const Device* device = find_device(id, snapshot);
  object["name"] =
      device != nullptr && device->name.get() ? Json(*device->name.get()) : Json(nullptr);
  return object;
}

Json choice_json(const Choice& choice, const Snapshot& snapshot) {
  Json object = device_json(choice.device, choice.index, snapshot);
  object["promised_bytes"] = choice.promised ? Json(choice.promised->count()) : Json(nullptr);
  object["reason"] = choice.reason;
  return object;
}

Json refusal_json(const Refusal& refusal, const Snapshot& snapshot) {
  Json object = device_json(refusal.device, refusal.index, snapshot);
  object["rule"] = name_of(refusal.rule);
  object["text"] = refusal.text;
  object["may_change"] = refusal.may_change;
  Json holders = Json::array();
  for (const Holder& holder : refusal.holders) {
    holders.push_back(
        {{"user", holder.user},
         {"pid", holder.pid != 0 ? Json(holder.pid) : Json(nullptr)},
         {"command", holder.command},
         {"since_unix_ms", holder.since ? Json(holder.since->unix_ms) : Json(nullptr)}});
  }
  object["holders"] = std::move(holders);
  return object;
}

}  // namespace

std::string placement_json(const Placement& placement, std::string_view asked_for,
                           const Snapshot& snapshot,
                           std::span<const std::pair<std::string, std::string>> variables) {
  Json root = Json::object();
  root["berth_placement"] = 1;
  root["simulated"] = snapshot.simulated ? Json(*snapshot.simulated) : Json(nullptr);
  root["asked_for"] = asked_for;
  root["satisfied"] = placement.satisfied();
  root["possible"] = placement.possible;
  root["claimed"] = false;
  Json environment = Json::object();
  for (const auto& [name, value] : variables) environment[name] = value;
  root["environment"] = std::move(environment);
  root["chosen"] = Json::array();
  for (const Choice& choice : placement.chosen) {
    root["chosen"].push_back(choice_json(choice, snapshot));
  }
  root["available"] = Json::array();
  for (const Choice& choice : placement.available) {
    root["available"].push_back(choice_json(choice, snapshot));
  }
  root["refused"] = Json::array();
  for (const Refusal& refusal : placement.refused) {
    root["refused"].push_back(refusal_json(refusal, snapshot));
  }
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace berth
