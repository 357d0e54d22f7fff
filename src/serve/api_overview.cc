// The overview: the machine as the page shows it at a glance, and the lists it is made of.

#include <map>

#include "health/health.h"
#include "serve/api_json.h"
#include "serve/room.h"
#include "snapshot/device_kind.h"
#include "snapshot/gpu_use.h"
#include "snapshot/json.h"
#include "snapshot/questions.h"

namespace berth::serve {

namespace {

constexpr int overview_version = 1;

std::map<DeviceId, HealthState> health_states(const Snapshot& seen) {
  std::map<DeviceId, HealthState> states;
  for (const DeviceHealth& one : health_of(seen)) states[one.device] = one.state;
  return states;
}

/// Null: it is not examined (another vendor's).
Json health_word(const Device& device, const std::map<DeviceId, HealthState>& states) {
  const auto found = states.find(device.parent.value_or(device.id));
  return found == states.end() ? Json(nullptr) : Json(name_of(found->second));
}

Json lease_ids(const Device& device, const Snapshot& seen) {
  Json ids = Json::array();
  for (const Claim* claim : claims_on(device.id, seen)) ids.push_back(claim->id);
  return ids;
}

/// Which of its card's instances it is; null: it is a card.
Json mig_json(const Device& device) {
  if (!device.mig) return nullptr;
  return {{"gpu_instance", device.mig->gpu_instance},
          {"compute_instance", device.mig->compute_instance}};
}

/// Users whose names may be seen.
Json user_names(const Device& device, const Snapshot& seen) {
  Json names = Json::array();
  for (const std::string& user : users_of(device, seen)) {
    if (!user.empty()) names.push_back(user);
  }
  return names;
}

Json device_json(const Device& device, const Snapshot& seen,
                 const std::map<DeviceId, HealthState>& states) {
  Json object = {{"id", device.id.text()},
                 {"index", json_or_null(device.index)},
                 {"kind", facts_of(device.kind).name},
                 {"parent", device.parent ? Json(device.parent->text()) : Json(nullptr)},
                 {"mig", mig_json(device)}};
  put(object, "name", device.name);
  object["state"] = name_of(state_of(device, seen));
  object["health"] = health_word(device, states);
  put(object, "utilization_gpu_percent", load_now(device));
  put(object, "memory_used_bytes", device.memory_used);
  put(object, "memory_total_bytes", device.memory_total);
  put(object, "temperature_celsius", device.temperature);
  const std::optional<Heat> heat = heat_of(device);
  object["heat"] = heat ? Json(name_of(*heat)) : Json(nullptr);
  put(object, "power_draw_milliwatts", device.power_draw);
  put(object, "power_limit_milliwatts", device.power_limit);
  object["users"] = user_names(device, seen);
  object["reserved_for"] = users_waiting_for(device, seen);
  object["leases"] = lease_ids(device, seen);
  if (!object.contains("why")) object["why"] = Json::object();
  return object;
}

/// Command as one text, as a person would type it: null by policy, or because it cannot be read.
void put_command(Json& object, const HostProcess* process) {
  if (process == nullptr) return put(object, "command", Reading<std::string>(Absent::failed));
  Reading<std::string> command = process->command.why();
  if (process->command.get()) {
    std::string words;
    for (const std::string& word : *process->command.get()) {
      words += (words.empty() ? "" : " ") + word;
    }
    command = std::move(words);
  }
  put(object, "command", command);
}

Json process_json(const GpuProcess& use, const Snapshot& seen) {
  const HostProcess* process = find_process(use.pid, seen);
  const Claim* claim = claim_of(use.pid, seen);
  Json object = {{"key", use.device.text() + "/" + std::to_string(use.pid)},
                 {"device", use.device.text()},
                 {"pid", use.pid},
                 {"start_ticks", process != nullptr && process->id.start_ticks != 0
                                     ? Json(process->id.start_ticks)
                                     : Json(nullptr)}};
  put(object, "user", process != nullptr ? process->user : Reading<std::string>(Absent::failed));
  put_command(object, process);
  object["type"] = word_of(use.use);
  put(object, "memory_used_bytes", use.memory);
  put(object, "utilization_sm_percent", use.utilization_sm);
  put(object, "started_unix_ms",
      process != nullptr ? process->started : Reading<WallTime>(Absent::failed));
  put(object, "container",
      process != nullptr ? enclosure_title(*process) : Reading<std::string>(Absent::failed));
  object["run"] = claim != nullptr && !claim->run.empty() ? Json(claim->run) : Json(nullptr);
  object["lease"] = claim != nullptr ? Json(claim->id) : Json(nullptr);
  if (!object.contains("why")) object["why"] = Json::object();
  return object;
}

/// What the snapshot's own writer calls `key`, with what policy hides as null.
Json part_of_snapshot(const Snapshot& part, const char* key) {
  Json whole = Json::parse(to_json(part, JsonLayout::compact), nullptr, false);
  Json list = whole.value(key, Json::array());
  for (Json& one : list) {
    if (one.value("user", "") != "") continue;
    one["user"] = nullptr;
    one["uid"] = nullptr;
  }
  for (Json& one : list) {
    if (one.value("command", "") == "") one["command"] = nullptr;
  }
  return list;
}

Json counts_json(const Snapshot& seen, const std::map<DeviceId, HealthState>& states) {
  Json counts = Json::object();
  for (std::size_t i = 0; i < device_state_count; ++i) {
    counts[name_of(static_cast<DeviceState>(i))] = 0;
  }
  int failed = 0;
  for (const Device& device : seen.devices) {
    const std::string state(name_of(state_of(device, seen)));
    counts[state] = counts[state].get<int>() + 1;
    const auto health = states.find(device.id);
    failed += health != states.end() && health->second == HealthState::failed ? 1 : 0;
  }
  counts["failed"] = failed;
  return counts;
}

Json problems_json(const Snapshot& seen) {
  Json list = Json::array();
  for (const Problem& problem : seen.problems) {
    list.push_back({{"source", problem.source},
                    {"device", problem.device ? Json(problem.device->text()) : Json(nullptr)},
                    {"code", problem.code},
                    {"message", problem.message},
                    {"remedy", problem.remedy}});
  }
  return list;
}

Json host_json(const Host& host) {
  Json object = Json::object();
  put(object, "name", host.name);
  put(object, "driver_version", host.driver_version);
  put(object, "cuda_version_supported", host.cuda_version_supported);
  return object;
}

}  // namespace

bool is_stale(const World& world) {
  if (!world.snapshot) return true;
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(world.interval);
  constexpr std::chrono::milliseconds of_a_look{3000};
  return world.now.unix_ms - world.snapshot->taken.unix_ms > (2 * interval + of_a_look).count();
}

Json devices_json(const Snapshot& seen) {
  const auto states = health_states(seen);
  Json list = Json::array();
  for (const Device& device : seen.devices) list.push_back(device_json(device, seen, states));
  return list;
}

Json processes_json(const Snapshot& seen) {
  Json list = Json::array();
  for (const GpuProcess& use : seen.gpu_processes) list.push_back(process_json(use, seen));
  return list;
}

Json leases_json(const Snapshot& seen) {
  Snapshot part;
  part.claims = seen.claims;
  return part_of_snapshot(part, "leases");
}

Json queue_json(const Snapshot& seen) {
  Snapshot part;
  part.waiters = seen.waiters;
  return part_of_snapshot(part, "queue");
}

Json overview(const Asker& asker, const World& world, const Snapshot& seen) {
  Json root = Json::object();
  root["berth_overview"] = overview_version;
  root["taken_unix_ms"] = seen.taken.unix_ms;
  root["sequence"] = world.sequence;
  root["simulated"] = json_or_null(seen.simulated);
  root["stale"] = is_stale(world);
  root["unanswered_since_unix_ms"] = time_or_null(world.unanswered_since);
  root["interval_ms"] =
      std::chrono::duration_cast<std::chrono::milliseconds>(world.interval).count();
  root["version"] = BERTH_VERSION;
  root["host"] = host_json(seen.host);
  root["asker"] = {{"user", asker.user.empty() ? Json(nullptr) : Json(asker.user)},
                   {"admin", asker.admin},
                   {"sees", word_for_sight(asker, world.policy)}};
  root["joined"] = world.room ? world.room->hosts.size() : 0;
  root["counts"] = counts_json(seen, health_states(seen));
  root["devices"] = devices_json(seen);
  root["processes"] = processes_json(seen);
  root["leases"] = leases_json(seen);
  root["queue"] = queue_json(seen);
  root["problems"] = problems_json(seen);
  root["alerts"] = active_alerts_json(asker, world);
  return root;
}

std::string overview_json(const Asker& asker, const World& world) {
  if (!world.snapshot) return {};
  return dumped(overview(asker, world, *seen_by(asker, world)));
}

Response answer_overview(const Question& question) {
  return json_response(overview_json(question.asker, question.world) + "\n");
}

Response answer_gpu_status(const Question& question) {
  const auto seen = seen_by(question.asker, question.world);
  const bool hides_names = question.world.policy.others == Policy::Others::owner;
  std::string text = to_json(*seen, JsonLayout::compact);
  if (!hides_names) return json_response(std::move(text) + "\n");
  Json whole = Json::parse(text, nullptr, false);
  whole["leases"] = leases_json(*seen);
  whole["queue"] = queue_json(*seen);
  return json_response(dumped(whole) + "\n");
}

Response answer_devices(const Question& question) {
  return page_of(question, "devices", devices_json(*seen_by(question.asker, question.world)), "id");
}

Response answer_device(const Question& question) {
  const auto seen = seen_by(question.asker, question.world);
  for (Json& device : devices_json(*seen)) {
    const bool is_named =
        device["id"] == question.id || (device["parent"].is_null() && device["index"].is_number() &&
                                        std::to_string(device["index"].get<int>()) == question.id);
    if (!is_named) continue;
    device["simulated"] = json_or_null(seen->simulated);
    return json_response(dumped(device) + "\n");
  }
  return no_such("device", question.id);
}

Response answer_processes(const Question& question) {
  const auto seen = seen_by(question.asker, question.world);
  const auto user = parameter_of(question.request, "user");
  const auto device = parameter_of(question.request, "device");
  Json wanted = Json::array();
  for (Json& process : processes_json(*seen)) {
    if (user && process["user"] != Json(*user)) continue;
    if (device && process["device"] != Json(*device)) continue;
    wanted.push_back(std::move(process));
  }
  return page_of(question, "processes", std::move(wanted), "key");
}

Response answer_leases(const Question& question) {
  return page_of(question, "leases", leases_json(*seen_by(question.asker, question.world)), "id");
}

Response answer_queue(const Question& question) {
  return page_of(question, "queue", queue_json(*seen_by(question.asker, question.world)), "id");
}

}  // namespace berth::serve
