// `berth ps` for programs: the objects of a snapshot under the same names, joined per process and
// device.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/json.h"
#include "view/process_rows.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

/// The object of `list` whose `key` is `value`; null where there is none.
template <class Value>
Json found_in(const Json& list, const char* key, const Value& value) {
  for (const Json& one : list) {
    if (one.value(key, Json()) == Json(value)) return one;
  }
  return nullptr;
}

/// Null where nobody could be looked for.
Json holders_json(const Device& device, const std::vector<pid_t>& pids, const Snapshot& snapshot,
                  const Json& whole) {
  if (!snapshot.device_files.get() || !device.minor_number.get()) return nullptr;
  Json holders = Json::array();
  for (const pid_t pid : pids) {
    Json holder = found_in(whole["processes"], "pid", pid);
    holders.push_back(holder.is_null() ? Json{{"pid", pid}} : std::move(holder));
  }
  return holders;
}

}  // namespace

std::string process_list_json(const Snapshot& snapshot, const ProcessListOptions& options) {
  const SnapshotIndex index(snapshot);
  Snapshot needed = snapshot;
  needed.devices.clear();
  // Written by the one writer there is, and taken apart again: the formats cannot drift apart.
  const Json whole = Json::parse(to_json(needed, JsonLayout::compact), nullptr, false);
  Json root = Json::object();
  root["berth_processes"] = 1;
  root["taken_unix_ms"] = snapshot.taken.unix_ms;
  root["simulated"] = snapshot.simulated ? Json(*snapshot.simulated) : Json(nullptr);
  root["process_view"] =
      snapshot.host.process_view.get() ? Json(*snapshot.host.process_view.get()) : Json(nullptr);
  root["processes"] = Json::array();
  for (const ProcessRow& row : process_rows(index, options)) {
    Json object = Json::object();
    object["device_index"] = row.device->index ? Json(*row.device->index) : Json(nullptr);
    for (const Json& use : whole["gpu_processes"]) {
      if (use["device"] != row.device->id.text() || use["pid"] != row.use->pid) continue;
      object.update(use);
    }
    object["presence"] = name_of(row.presence);
    object["run"] = row.claim != nullptr ? Json(row.claim->run) : Json(nullptr);
    object["lease"] = row.claim != nullptr ? Json(row.claim->id) : Json(nullptr);
    object["process"] = found_in(whole["processes"], "pid", row.use->pid);
    if (has_ended(row)) {
      object["has_device_open"] = holders_json(*row.device, row.holders, snapshot, whole);
    }
    root["processes"].push_back(std::move(object));
  }
  root["unexplained"] = Json::array();
  for (const GhostRow& ghost : ghost_rows(index)) {
    root["unexplained"].push_back(
        {{"device", ghost.device->id.text()},
         {"device_index", ghost.device->index ? Json(*ghost.device->index) : Json(nullptr)},
         {"memory_bytes", ghost.memory.count()},
         {"has_device_open", holders_json(*ghost.device, ghost.holders, snapshot, whole)}});
  }
  const auto& files = snapshot.device_files.get();
  root["unreadable_processes"] =
      files && files->unreadable.get() ? Json(*files->unreadable.get()) : Json(nullptr);
  root["problems"] = whole["problems"];
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth
