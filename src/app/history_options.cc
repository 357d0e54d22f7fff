#include "app/history_options.h"

#include <unistd.h>

#include <cerrno>

#include "app/past_runs.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/typed_time.h"
#include "record/history/store.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// A scenario of which a simulated server has kept a history; nothing: there is none.
std::optional<std::string> a_simulated_history(const std::string& directory) {
  constexpr std::string_view begin = "history-sim-";
  constexpr std::string_view end = ".sqlite";
  const auto names = list_directory(directory);
  if (!names) return std::nullopt;
  for (const std::string_view name : *names) {
    if (!name.starts_with(begin) || !name.ends_with(end)) continue;
    return std::string(name.substr(begin.size(), name.size() - begin.size() - end.size()));
  }
  return std::nullopt;
}

}  // namespace

void HistoryOptionWords::declare(Options& options) {
  options.filled_value("--since", since_, "from when on: how long ago, or a date", "TIME");
  options.filled_value("--until", until_, "until when (now)", "TIME");
  options.filled_value("--store", store_, "the history's file, if not the usual one", "FILE");
}

Result<HistoryOptionWords::Window> HistoryOptionWords::window(
    WallTime now, const std::string& default_since) const {
  const auto until = until_.empty() ? Result<WallTime>(now) : parse_wall_time(until_, now);
  if (!until) return std::unexpected(until.error());
  // Nothing can be said of the future, not even that nobody looked.
  const WallTime end{std::min(until->unix_ms, now.unix_ms)};
  const auto since = parse_wall_time(since_.empty() ? default_since : since_, now);
  if (!since) return std::unexpected(since.error());
  if (*since >= end) {
    return fail(ErrorCode::invalid, "--since is not before --until");
  }
  return Window{*since, end};
}

Result<HistoryReader> HistoryOptionWords::open(const Context& context) const {
  if (!store_.empty()) return HistoryReader::open(store_);
  const std::optional<std::string>& simulated = context.sources().simulated;
  std::vector<std::string> places;
  if (const auto state = context.state_directory()) {
    places.push_back(history_path(*state, simulated));
  }
  places.push_back(history_path(context.machine_state(), simulated));
  bool is_hidden = false;
  for (const std::string& path : places) {
    if (::access(path.c_str(), F_OK) != 0) {
      is_hidden = is_hidden || errno == EACCES;
      continue;
    }
    auto reader = HistoryReader::open(path);
    if (reader || reader.error().code() != ErrorCode::not_found) return reader;
  }
  if (is_hidden) {
    return fail(ErrorCode::no_permission,
                "the history of this machine is in {}, which you may not read. The page of `berth "
                "serve` shows what is for everybody, `sudo berth history` all of it",
                context.machine_state());
  }
  if (const auto state = context.state_directory(); state && !simulated) {
    if (const auto scenario = a_simulated_history(*state)) {
      return fail(ErrorCode::not_found,
                  "there is no history of this machine yet, only of a simulated one: add --sim {} "
                  "to see it",
                  *scenario);
    }
  }
  if (simulated && place_of_runs(context) != context.state_directory()) {
    return fail(ErrorCode::not_found,
                "the weeks of {} are written when its server begins: `berth serve --sim {}`, then "
                "this again",
                *simulated, *simulated);
  }
  return fail(ErrorCode::not_found,
              "there is no history yet in {}: `berth serve{}` keeps one while it runs (--store "
              "names another file)",
              places.front(), simulated ? " --sim " + *simulated : std::string());
}

IdleEvidence idle_evidence(const Context& context, const Snapshot& snapshot) {
  IdleEvidence evidence;
  if (context.replay()) {
    evidence.why_none = sentence("a recording has none");
    return evidence;
  }
  auto reader = HistoryOptionWords().open(context);
  if (!reader) {
    evidence.why_none = reader.error().said();
    return evidence;
  }
  std::vector<DeviceId> held;
  for (const Device& device : snapshot.devices) {
    const bool is_held =
        !claims_on(device.id, snapshot).empty() || !processes_on(device.id, snapshot).empty();
    if (is_held) held.push_back(device.id);
  }
  auto loads = reader->series({.devices = std::move(held),
                               .metric = "utilization_gpu_percent",
                               .since = WallTime{snapshot.taken.unix_ms - day_ms},
                               .until = snapshot.taken,
                               .points = 24 * 60});
  if (!loads) return evidence;
  std::erase_if(*loads, [](const HistorySeries& load) { return load.points.empty(); });
  evidence.loads = *std::move(loads);
  return evidence;
}

}  // namespace berth
