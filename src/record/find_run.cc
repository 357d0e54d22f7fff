// The runs of a state directory: all of them, and one by its name.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "record/record_writer.h"
#include "record/run_record.h"

namespace berth {

namespace {

/// The owner of the state directory, or of the link in its place. To root, all in it is that
/// owner's, and leads nowhere that is not open to the owner. To everybody else a record belongs to
/// the owner of its folder.
std::optional<FileOwner> owner_in(const std::string& state_directory) {
  if (::geteuid() != 0) return std::nullopt;
  if (auto owner = owner_of_folder(state_directory)) return *owner;
  struct stat facts{};
  if (::lstat(state_directory.c_str(), &facts) != 0) return std::nullopt;  // there are none
  return FileOwner{.uid = facts.st_uid};
}

/// The runs of a state directory. Open with its owner's rights as long as this lives.
struct Runs {
  explicit Runs(const std::string& state_directory)
      : path(runs_directory(state_directory)),
        owner(owner_in(state_directory)),
        rights(owner.value_or(FileOwner::ourselves())) {}
  [[nodiscard]] Result<RunRecord> read(const std::string& id) const {
    const std::string directory = path + "/" + id;
    if (!owner) return read_run(directory);
    auto run = read_run(directory, *owner);
    if (run || run.error().code() != ErrorCode::no_permission) return run;
    return read_run(directory, FileOwner::ourselves());  // root's own, by sudo
  }
  std::string path;
  std::optional<FileOwner> owner;
  OwnersRights rights;
};

Error no_such_run(std::string_view name, const std::string& runs) {
  return fail(ErrorCode::not_found, "there is no run \"{}\" in {}: see `berth runs`", name, runs)
      .error();
}

/// The one that started last, as RecordWriter::create has left it said.
std::optional<RunRecord> run_said_to_be_last(const Runs& runs) {
  const auto id = read_link(runs.path + "/../" + std::string(last_run_link));
  if (!id || !id->starts_with("runs/") || id->find('/', 5) != std::string::npos) {
    return std::nullopt;
  }
  auto run = runs.read(id->substr(5));
  return run ? std::optional(std::move(*run)) : std::nullopt;
}

/// The one that started last. Where that is not said, the names tell, and of those that began in
/// the last second their manifests.
Result<RunRecord> last_run(const Runs& runs, const std::vector<std::string>& ids) {
  if (auto said = run_said_to_be_last(runs)) return std::move(*said);
  constexpr std::size_t date_and_time = 15;
  std::optional<RunRecord> last;
  std::optional<Error> unreadable;
  std::string second;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (id->starts_with('.')) continue;
    if (second.empty()) second = id->substr(0, date_and_time);
    if (!id->starts_with(second)) break;
    auto run = runs.read(*id);
    if (!run) {
      unreadable = std::move(run).error();
    } else if (!last || last->manifest.started < run->manifest.started) {
      last = std::move(*run);
    }
  }
  if (last) return std::move(*last);
  if (unreadable) return std::unexpected(std::move(*unreadable));
  return std::unexpected(no_such_run("last", runs.path));
}

/// Within one boot the steady clock tells the order, whatever was done to the date. The date of a
/// boot is that of its latest run.
void sort_newest_first(std::vector<RunRecord>& runs) {
  std::map<std::string, const Manifest*> latest;
  for (const RunRecord& run : runs) {
    if (!run.manifest.started_steady_ms) continue;
    const Manifest*& known = latest[run.manifest.boot_id];
    if (known == nullptr || known->started_steady_ms < run.manifest.started_steady_ms) {
      known = &run.manifest;
    }
  }
  std::vector<std::pair<double, std::size_t>> order;  // double: no hostile number overflows
  for (const RunRecord& run : runs) {
    const Manifest& own = run.manifest;
    auto started = static_cast<double>(own.started.unix_ms);
    if (own.started_steady_ms) {
      const Manifest& last = *latest.at(own.boot_id);
      started = static_cast<double>(last.started.unix_ms) -
                (static_cast<double>(*last.started_steady_ms) -
                 static_cast<double>(*own.started_steady_ms));
    }
    order.emplace_back(started, order.size());
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<RunRecord> sorted;
  sorted.reserve(runs.size());
  for (const auto& [started, at] : order) sorted.push_back(std::move(runs[at]));
  runs = std::move(sorted);
}

bool names(std::string_view id, std::string_view name) {
  return id.starts_with(name) || id.ends_with(name);
}

}  // namespace

Result<RunList> list_runs(const std::string& state_directory) {
  const Runs runs(state_directory);
  RunList list;
  auto ids = list_directory(runs.path);
  if (!ids) {
    if (ids.error().code() == ErrorCode::not_found) return list;
    return std::unexpected(std::move(ids).error());
  }
  std::reverse(ids->begin(), ids->end());  // ids begin with the time
  for (const std::string& name : *ids) {
    if (name.starts_with('.')) continue;
    auto run = runs.read(name);
    if (run) {
      list.runs.push_back(std::move(*run));
    } else {
      list.problems.push_back(run.error().said());
    }
  }
  sort_newest_first(list.runs);
  return list;
}

std::optional<std::string> unrecorded_last_run(const std::string& state_directory) {
  const auto target = read_link(state_directory + "/" + std::string(last_run_link));
  if (!target || !target->starts_with(unrecorded_run_prefix)) return std::nullopt;
  return target->substr(unrecorded_run_prefix.size());
}

Result<RunRecord> load_run(const std::string& state_directory, std::string_view name) {
  const Runs runs(state_directory);
  const auto ids = list_directory(runs.path);
  // A folder that may not be read may hold runs.
  if (!ids && ids.error().code() != ErrorCode::not_found) return std::unexpected(ids.error());
  std::vector<std::string> found;
  if (name == "last") {
    if (const auto id = unrecorded_last_run(state_directory)) {
      return fail(ErrorCode::not_found,
                  "the run that started last, {}, has no record: it could not be written in {}. "
                  "`berth runs` lists those before it",
                  *id, runs.path);
    }
  }
  if (ids) {
    if (name == "last") return last_run(runs, *ids);
    for (const std::string& id : *ids) {
      if (id.starts_with('.')) continue;
      if (id == name) return runs.read(id);
      if (!name.empty() && names(id, name)) found.push_back(id);
    }
  }
  if (found.size() == 1) return runs.read(found.front());
  if (found.empty()) return std::unexpected(no_such_run(name, runs.path));
  return fail(ErrorCode::invalid, "\"{}\" means several runs ({}, {}{}): give more of the id", name,
              found.front(), found[1], (found.size() > 2 ? ", …" : ""));
}

}  // namespace berth
