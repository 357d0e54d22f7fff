#pragma once
// What the API's files share: readings as JSON, pages of a list, numbers in a query.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "serve/api.h"

namespace berth::serve {

using Json = nlohmann::ordered_json;

[[nodiscard]] std::string dumped(const Json& json);

/// The value, or null with the reason under "why".
template <class T>
void put(Json& object, const char* key, const Reading<T>& reading) {
  if (!reading.get()) {
    object[key] = nullptr;
    object["why"][key] = name_of(reading.why());
  } else if constexpr (requires { reading.get()->count(); }) {
    object[key] = reading.get()->count();
  } else if constexpr (requires { reading.get()->unix_ms; }) {
    object[key] = reading.get()->unix_ms;
  } else {
    object[key] = *reading.get();
  }
}

template <class T>
[[nodiscard]] Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
[[nodiscard]] inline Json time_or_null(const std::optional<WallTime>& time) {
  return time ? Json(time->unix_ms) : Json(nullptr);
}

struct Question {
  const Request& request;
  const Asker& asker;
  const World& world;
  std::string_view id;  // what "*" stands for in the route
};

/// A number in the query: from `least` to `most`, `otherwise` where it is not given. The error is
/// what to answer.
[[nodiscard]] std::expected<std::uint64_t, Response> number_parameter(const Request& request,
                                                                      const char* name,
                                                                      std::uint64_t otherwise,
                                                                      std::uint64_t least,
                                                                      std::uint64_t most);

[[nodiscard]] Response error_response(const Error& error);
/// 404
[[nodiscard]] Response no_such(std::string_view what, std::string_view name);

/// {"simulated": …, NAME: the page of `items`, "next": …, and what is in `beside`}: those after the
/// one whose `id` is `after`, at most `limit`.
[[nodiscard]] Response page_of(const Question& question, const char* name, Json items,
                               const char* id, Json beside = Json::object());

/// The simulated server that everything answered is of; null: a real one.
[[nodiscard]] std::optional<std::string> simulated_in(const World& world);

// The parts of the API, one per file. `id`: the last or the last but one part of the path.
[[nodiscard]] Json overview(const Asker& asker, const World& world, const Snapshot& seen);
[[nodiscard]] Json devices_json(const Snapshot& seen);
[[nodiscard]] Json processes_json(const Snapshot& seen);
[[nodiscard]] Json leases_json(const Snapshot& seen);
[[nodiscard]] Json queue_json(const Snapshot& seen);
/// With the names of whom it is about, as far as they may be seen.
[[nodiscard]] Json alert_json(const Alert& alert, const std::vector<std::string>& names);
[[nodiscard]] Json active_alerts_json(const Asker& asker, const World& world);

[[nodiscard]] Response answer_gpu_status(const Question& question);
[[nodiscard]] Response answer_overview(const Question& question);
[[nodiscard]] Response answer_devices(const Question& question);
[[nodiscard]] Response answer_device(const Question& question);
[[nodiscard]] Response answer_processes(const Question& question);
[[nodiscard]] Response answer_leases(const Question& question);
[[nodiscard]] Response answer_queue(const Question& question);
[[nodiscard]] Response answer_health(const Question& question);
[[nodiscard]] Response answer_hosts(const Question& question);
[[nodiscard]] Response answer_alerts(const Question& question);
[[nodiscard]] Response answer_healthz(const Question& question);
[[nodiscard]] Response answer_metrics(const Question& question);
[[nodiscard]] Response answer_runs(const Question& question);
[[nodiscard]] Response answer_run(const Question& question);
[[nodiscard]] Response answer_run_samples(const Question& question);
[[nodiscard]] Response answer_run_log(const Question& question);
[[nodiscard]] Response answer_history(const Question& question);
[[nodiscard]] Response answer_usage(const Question& question);
[[nodiscard]] Response answer_timeline(const Question& question);
[[nodiscard]] Response answer_events_log(const Question& question);
[[nodiscard]] Response answer_release(const Question& question);
[[nodiscard]] Response answer_signal(const Question& question);
[[nodiscard]] Response answer_compose(const Question& question);

/// The part of the newest snapshot that the asker may see.
[[nodiscard]] std::shared_ptr<const Snapshot> seen_by(const Asker& asker, const World& world);

}  // namespace berth::serve
