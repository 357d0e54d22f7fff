// Leases and the queue for programs: the same objects under the same names as in a snapshot.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "snapshot/json.h"
#include "view/leases_text.h"

namespace berth {

namespace {
std::string_view name_of(LedgerPlace::Kind kind) {
  switch (kind) {
    case LedgerPlace::Kind::shared:
      return "shared";
    case LedgerPlace::Kind::own:
      return "own";
    case LedgerPlace::Kind::named:
      return "named";
  }
  return "own";
}
}  // namespace

std::string leases_json(const Snapshot& snapshot, const std::optional<LedgerPlace>& place) {
  using Json = nlohmann::ordered_json;
  Snapshot only_leases;
  only_leases.taken = snapshot.taken;
  only_leases.claims = snapshot.claims;
  only_leases.waiters = snapshot.waiters;
  // Written by the one writer there is, and taken apart again: the formats cannot drift apart.
  const Json whole = Json::parse(to_json(only_leases, JsonLayout::compact), nullptr, false);
  Json root = Json::object();
  root["berth_leases"] = 1;
  root["taken_unix_ms"] = snapshot.taken.unix_ms;
  root["simulated"] = snapshot.simulated ? Json(*snapshot.simulated) : Json(nullptr);
  root["ledger"] = place ? Json(place->directory) : Json(nullptr);
  root["ledger_kind"] = place ? Json(name_of(place->kind)) : Json(nullptr);
  root["leases"] = whole.value("leases", Json::array());
  root["queue"] = whole.value("queue", Json::array());
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth
