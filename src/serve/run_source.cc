#include "serve/run_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>

#include "base/aggregate.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/user_name.h"

namespace berth::serve {

namespace {

FileOwner owner_of(const StateDirectory& directory) {
  return directory.as.value_or(FileOwner::ourselves());
}
uid_t whose(const StateDirectory& directory) { return owner_of(directory).uid; }

Error why_not_read(const std::string& name, ErrorCode code) {
  if (code == ErrorCode::not_found || code == ErrorCode::invalid) {
    return Error(ErrorCode::not_found,
                 "there is no run {}: what its folder holds is no record of one", printable(name));
  }
  // Not for ever: no descriptor is left, or the disk fails.
  return Error(ErrorCode::io, "the record of run {} cannot be read now", printable(name));
}

/// Nothing: there is no such folder, or it is not wanted, or nothing of it may be shown. No error
/// names its path: who may know of a run need not know where it lies.
Result<std::optional<FoundRun>> read_found(const StateDirectory& directory, const std::string& name,
                                           const RunSource::IsShown& is_shown,
                                           const RunSource::IsWanted& is_wanted = nullptr) {
  const OwnersRights rights(owner_of(directory));
  if (!rights.are_there()) return std::nullopt;
  const std::string path = runs_directory(directory.path) + "/" + name;
  auto owner = owner_of_folder(path);
  if (!owner || (directory.as && owner->uid != directory.as->uid) || !is_shown(owner->uid)) {
    return std::nullopt;
  }
  if (directory.as) owner = *directory.as;
  auto record = read_run(path, *owner);
  if (!record) return std::unexpected(why_not_read(name, record.error().code()));
  // Under its own id there would be two runs of one name. A question about one would be answered by
  // the other.
  if (record->manifest.id != name) {
    return fail(ErrorCode::not_found,
                "there is no run {}: its folder holds the record of another run, copied or renamed",
                printable(name));
  }
  // The folder says whose the run is. The record says whatever its writer wrote. Its user name
  // counts only if its uid is the owner's, and the machine has no name for that uid. (A directory
  // service has.)
  const std::string known = local_user_name(owner->uid);
  const bool is_known = known != std::to_string(owner->uid);
  if (is_known || record->manifest.uid != owner->uid) record->manifest.user = known;
  record->manifest.uid = owner->uid;
  if (is_wanted && !is_wanted(*record)) return std::nullopt;
  RunStory story = story_of(*record);
  return FoundRun{.record = std::move(*record),
                  .story = std::move(story),
                  .place = {.name = name, .whose = whose(directory)}};
}

bool is_run_id(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos;
}

/// Readings whose mean over a stretch of time says something: all but counters.
const std::vector<const RecordedReading*>& columns() {
  static const std::vector<const RecordedReading*> gauges = [] {
    std::vector<const RecordedReading*> found;
    for (const RecordedReading& one : recorded_readings) {
      if (one.kind == SeriesKind::gauge) found.push_back(&one);
    }
    return found;
  }();
  return gauges;
}

/// The samples of one stretch of time of one device.
struct Stretch {
  std::int64_t first_unix_ms = 0;
  std::vector<Aggregate<>> values = std::vector<Aggregate<>>(columns().size());  // by column

  void add(const DeviceSample& sample) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const auto number = plain_number(columns()[i]->read(sample))) values[i].add(*number);
    }
  }
};

/// How much of the text's end is a character cut in two.
std::size_t cut_character(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0U) == 0x80U) continue;
    const std::size_t whole = byte >= 0xf0U ? 4 : byte >= 0xe0U ? 3 : byte >= 0xc0U ? 2 : 1;
    return whole > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::vector<StateDirectory> state_directories_of_all(std::string_view passwd) {
  std::vector<StateDirectory> all;
  for (const PasswdEntry& user : users_in_passwd(passwd)) {
    const bool has_home = user.home.starts_with('/') && user.home != "/";
    if (!has_home || !user.gid || !is_person(user.uid)) continue;
    all.push_back({.path = std::string(user.home) + "/.local/state/berth",
                   .as = FileOwner{.uid = user.uid, .gid = *user.gid}});
  }
  return all;
}

void RunSource::look_in(std::vector<StateDirectory> directories) {
  auto made = std::make_shared<const std::vector<StateDirectory>>(std::move(directories));
  const std::lock_guard lock(mutex_);
  directories_ = std::move(made);
}

RunSource::Directories RunSource::directories() const {
  const std::lock_guard lock(mutex_);
  return directories_;
}

RunSource::Page RunSource::list(std::size_t limit, const std::optional<RunPlace>& after,
                                const IsShown& is_shown, const IsWanted& is_wanted) const {
  const Directories known = directories();
  // If one uid has two homes the first counts, as where a run is asked for.
  std::map<RunPlace, const StateDirectory*, std::greater<>> places;
  for (const StateDirectory& directory : *known) {
    if (directory.as && !is_shown(directory.as->uid)) continue;
    const OwnersRights rights(owner_of(directory));
    if (!rights.are_there()) continue;
    const auto found = list_directory(runs_directory(directory.path));
    if (!found) continue;
    for (const std::string& name : *found) {
      const RunPlace place{.name = name, .whose = whose(directory)};
      if (is_run_id(name) && (!after || place < *after)) places.emplace(place, &directory);
    }
  }
  Page page;
  std::size_t looked_at = 0;
  std::optional<RunPlace> last_shown;  // the name of another may not be told
  for (const auto& [place, directory] : places) {
    if (looked_at++ >= most_looked_at && last_shown) {
      page.next = last_shown;
      break;
    }
    auto run = read_found(*directory, place.name, is_shown, [&](const RunRecord& record) {
      last_shown = place;
      return !is_wanted || is_wanted(record);
    });
    if (!run || !*run) continue;
    if (page.runs.size() >= limit) {
      page.next = page.runs.back().place;
      break;
    }
    page.runs.push_back(std::move(**run));
  }
  return page;
}

Result<FoundRun> RunSource::find(std::string_view id, std::optional<uid_t> principal,
                                 const IsShown& is_shown) const {
  const Directories known = directories();
  // If the question named an owner, the place's name is shorter than the question.
  const RunPlace asked = run_place_in(id);
  const bool is_of_one = asked.name != id;
  std::vector<const StateDirectory*> order;
  for (const StateDirectory& directory : *known) {
    if (!is_run_id(asked.name) || (directory.as && !is_shown(directory.as->uid))) continue;
    // In the server's own there may be folders of others.
    if (is_of_one && directory.as && directory.as->uid != asked.whose) continue;
    order.push_back(&directory);
  }
  std::ranges::stable_partition(
      order, [&](const StateDirectory* directory) { return principal == whose(*directory); });
  std::optional<Error> reason;
  for (const StateDirectory* directory : order) {
    auto run = read_found(*directory, asked.name, is_shown);
    const bool is_anothers = run && *run && is_of_one && (*run)->owner() != asked.whose;
    if (run && *run && !is_anothers) return std::move(**run);
    if (!run && !reason) reason = std::move(run).error();
  }
  if (reason) return std::unexpected(*std::move(reason));
  return fail(ErrorCode::not_found, "there is no run {}", printable(id));
}

Result<SampleTable> RunSource::samples(const FoundRun& run, std::size_t points,
                                       WallTime now) const {
  const std::int64_t begin = run.record.manifest.started.unix_ms;
  const std::int64_t end = run.record.end ? run.record.end->at.unix_ms : now.unix_ms;
  constexpr std::int64_t shortest_ms = 1000;
  const auto wanted = static_cast<std::int64_t>(std::max<std::size_t>(points, 1));
  const std::int64_t step = std::max((end - begin) / wanted + 1, shortest_ms);
  std::map<std::pair<std::int64_t, std::size_t>, Stretch> stretches;
  const std::size_t most =
      (points + 2) * std::max<std::size_t>(1, run.record.manifest.given.devices.size());
  const auto read = for_each_sample(run.record, [&](const Sample& sample) {
    const std::int64_t number = (sample.at.unix_ms - begin) / step;
    for (std::size_t i = 0; i < sample.devices.size(); ++i) {
      // A file with other times than its record's must not fill our memory.
      if (stretches.size() >= most && !stretches.contains({number, i})) continue;
      Stretch& stretch = stretches[{number, i}];
      if (stretch.first_unix_ms == 0) stretch.first_unix_ms = sample.at.unix_ms;
      stretch.add(sample.devices[i]);
    }
  });
  if (!read) return std::unexpected(read.error());
  SampleTable table;
  for (const Device& device : run.record.manifest.given.devices) {
    table.devices.push_back(device.id.text());
  }
  for (const RecordedReading* column : columns()) table.columns.emplace_back(column->key);
  for (const auto& [key, stretch] : stretches) {
    SampleTable::RunRow row{.at_unix_ms = stretch.first_unix_ms, .device = key.second};
    for (const Aggregate<>& all : stretch.values) {
      row.values.push_back(all.is_empty() ? std::nullopt : std::optional(all.mean()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<LogPiece> RunSource::log(const FoundRun& run, std::uint64_t offset,
                                std::size_t limit) const {
  const auto fd = open_log(run.record);
  if (!fd) return std::unexpected(fd.error());
  struct stat facts{};
  if (::fstat(fd->get(), &facts) != 0) return fail_system(errno, "examine the log");
  LogPiece piece;
  const auto begin =
      static_cast<std::uint64_t>(std::max(::lseek(fd->get(), 0, SEEK_CUR), off_t{0}));
  piece.total = static_cast<std::uint64_t>(facts.st_size) - begin;
  piece.offset = std::min(offset, piece.total);
  piece.text.resize(limit);
  const ssize_t got =
      ::pread(fd->get(), piece.text.data(), limit, static_cast<off_t>(begin + piece.offset));
  if (got < 0) return fail_system(errno, "read the log");
  piece.text.resize(static_cast<std::size_t>(got));
  const bool is_end = piece.offset + piece.text.size() >= piece.total;
  if (!is_end) piece.text.resize(piece.text.size() - cut_character(piece.text));
  piece.next = piece.offset + piece.text.size();
  return piece;
}

std::string to_text(const RunPlace& place) {
  return place.name + "@" + std::to_string(place.whose);
}

RunPlace run_place_in(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const auto uid =
      at == std::string_view::npos ? std::nullopt : parse_unsigned(text.substr(at + 1));
  if (!uid || *uid > std::numeric_limits<uid_t>::max()) return {.name = std::string(text)};
  return {.name = std::string(text.substr(0, at)), .whose = static_cast<uid_t>(*uid)};
}

}  // namespace berth::serve
