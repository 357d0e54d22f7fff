#include "run/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "base/lock.h"
#include "base/process.h"
#include "base/text.h"

namespace berth {

namespace {

constexpr std::string_view range_mark = "..";

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// "1..3": nothing where it is none.
/// The numbers of "1..3", or the text itself where it is no range.
Result<std::vector<std::string>> values_of(std::string_view text) {
  const std::size_t mark = text.find(range_mark);
  if (mark == std::string_view::npos) return std::vector<std::string>{std::string(text)};
  const auto first = parse_signed(text.substr(0, mark));
  const auto last = parse_signed(text.substr(mark + range_mark.size()));
  // "0.1..0.3" would be one value that nobody means; "../data" and "a..b" are paths and names.
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789.+-e") == text.npos;
  if (!first || !last) {
    if (!is_number || mark == 0) return std::vector<std::string>{std::string(text)};
    return fail(ErrorCode::invalid, "\"{}\" is no range of whole numbers: name each value",
                printable(text));
  }
  constexpr std::int64_t furthest = 1'000'000'000'000;
  const bool is_right = *first <= *last && *first > -furthest && *last < furthest;
  if (!is_right) {
    return fail(ErrorCode::invalid, "\"{}\" is no range; write the smaller number first: 1..3",
                printable(text));
  }
  const std::int64_t count = *last - *first + 1;
  if (count > static_cast<std::int64_t>(most_points)) {
    return fail(ErrorCode::invalid, "\"{}\" has {} values; a sweep has {} points at most",
                printable(text), count, most_points);
  }
  std::vector<std::string> values;
  for (std::int64_t value = *first; value <= *last; ++value) {
    values.push_back(std::to_string(value));
  }
  return values;
}

Result<std::vector<std::string>> values_in(std::string_view text) {
  std::vector<std::string> values;
  for (const std::string_view part : split(text, ',')) {
    auto some = values_of(part);
    if (!some) return some;
    values.insert(values.end(), std::make_move_iterator(some->begin()),
                  std::make_move_iterator(some->end()));
  }
  return values;
}

/// The word with the values put in; notes which were used.
Result<std::string> filled(std::string_view word, const std::vector<SweepParameter>& parameters,
                           const std::vector<std::string>& values, std::vector<bool>& used) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool is_doubled = i + 1 < word.size() && word[i + 1] == word[i];
    if ((word[i] == '{' || word[i] == '}') && is_doubled) {
      text += word[i++];
      continue;
    }
    const std::size_t end = word[i] == '{' ? word.find('}', i) : std::string_view::npos;
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : word.substr(i + 1, end - i - 1);
    if (!is_name(name)) {  // a brace of the program's own
      text += word[i];
      continue;
    }
    const auto known = std::ranges::find(parameters, name, &SweepParameter::name);
    if (known == parameters.end()) {
      return fail(ErrorCode::invalid,
                  "nobody sets {{{}}}: add --set {}=…, or write {{{{{}}}}} for the braces",
                  printable(name), printable(name), printable(name));
    }
    const auto at = static_cast<std::size_t>(known - parameters.begin());
    used[at] = true;
    text += values[at];
    i = end;
  }
  return text;
}

}  // namespace

Result<SweepParameter> parse_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || !is_name(name) || equals + 1 == text.size()) {
    return fail(ErrorCode::invalid, "\"{}\" sets nothing; write lr=0.1,0.01 or seed=1..3",
                printable(text));
  }
  auto values = values_in(text.substr(equals + 1));
  if (!values) return std::unexpected(std::move(values).error());
  return SweepParameter{std::string(name), *std::move(values)};
}

Result<std::vector<SweepPoint>> points_of(const std::vector<SweepParameter>& parameters,
                                          const std::vector<std::string>& command) {
  // Multiplied one after the other, so that no product overflows.
  double count = 1;
  std::map<std::string, int> times;
  for (const SweepParameter& one : parameters) {
    count *= static_cast<double>(one.values.size());
    if (++times[one.name] > 1) {
      return fail(ErrorCode::invalid, "{} is set twice", printable(one.name));
    }
  }
  if (count > static_cast<double>(most_points)) {
    return fail(ErrorCode::invalid, "the grid has {} points, and a sweep {} at most",
                fmt::format("{:.0f}", count), most_points);
  }
  std::vector<SweepPoint> points;
  std::vector<bool> used(parameters.size(), false);
  for (std::size_t number = 0; number < static_cast<std::size_t>(count); ++number) {
    SweepPoint point{.values = std::vector<std::string>(parameters.size())};
    std::size_t rest = number;
    for (std::size_t i = parameters.size(); i-- > 0;) {
      point.values[i] = parameters[i].values[rest % parameters[i].values.size()];
      rest /= parameters[i].values.size();
    }
    for (const std::string& word : command) {
      auto text = filled(word, parameters, point.values, used);
      if (!text) return std::unexpected(std::move(text).error());
      point.command.push_back(*std::move(text));
    }
    points.push_back(std::move(point));
  }
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    const auto& name = parameters[static_cast<std::size_t>(unused - used.begin())].name;
    return fail(ErrorCode::invalid, "the command does not use {}: write {{{}}} where it belongs",
                printable(name), printable(name));
  }
  return points;
}

std::string sweep_id(const std::vector<SweepParameter>& parameters,
                     const std::vector<std::string>& words, std::string_view folder) {
  std::uint64_t mark = hash_of("");
  const auto add = [&mark](std::string_view text) { mark = hash_of("\xff", hash_of(text, mark)); };
  add(folder);
  for (const SweepParameter& one : parameters) {
    add(one.name);
    for (const std::string& value : one.values) add(value);
    add("");
  }
  for (const std::string& word : words) add(word);
  return fmt::format("{:016x}", mark);
}

std::string typed(const SweepName& name) {
  return fmt::format("sweep-{}.{}-{}", name.sweep, name.time, name.point);
}

std::optional<SweepName> sweep_name_in(std::string_view text) {
  constexpr std::string_view prefix = "sweep-";
  const std::size_t dot = text.find('.');
  const std::size_t dash = text.rfind('-');
  if (!text.starts_with(prefix) || dot == std::string_view::npos || dash < dot) return std::nullopt;
  const auto time = parse_unsigned(text.substr(dot + 1, dash - dot - 1));
  const auto point = parse_unsigned(text.substr(dash + 1));
  if (!time || !point || *point >= most_points) return std::nullopt;
  return SweepName{std::string(text.substr(prefix.size(), dot - prefix.size())), *time, *point};
}

namespace {

/// Not open: none can be had.
Fd open_locks(const std::string& records) {
  if (!make_directories(records, 0700)) return {};
  auto file = open_fd(records + "/sweeps.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return file ? *std::move(file) : Fd();
}

/// A sweep that starts a point holds this one until the point has a record.
LockRange byte_of_start(off_t byte_of_sweep) {
  constexpr off_t behind_all_sweeps = off_t{1} << 62U;
  return {.start = behind_all_sweeps + byte_of_sweep, .length = 1};
}

}  // namespace

SweepLocks::SweepLocks(std::string records, off_t byte)
    : records_(std::move(records)), byte_(byte), file_(open_locks(records_)) {}

Result<SweepLocks> SweepLocks::take(const std::string& records, const SweepName& name) {
  const auto id = std::strtoull(name.sweep.c_str(), nullptr, 16);
  SweepLocks locks(records, static_cast<off_t>(id >> 2U));
  const auto taken = take_ofd_lock(locks.file_.get(), {.start = locks.byte_, .length = 1});
  if (taken || taken.error().code() != ErrorCode::busy) return locks;
  return fail(ErrorCode::busy,
              "sweep: this very sweep is under way already: the same words in the same folder. "
              "It starts the points that are left; `berth runs` lists them");
}

Fd SweepLocks::hold_start() const {
  Fd file = open_locks(records_);
  return take_ofd_lock(file.get(), byte_of_start(byte_)) ? std::move(file) : Fd();
}

bool SweepLocks::is_being_started() const {
  const auto found = find_ofd_lock(file_.get(), byte_of_start(byte_));
  return found && *found;
}

bool is_over(const RunRecord& run) {
  return run.state == RunState::ended || run.state == RunState::end_unknown;
}

bool is_started_again(const RunRecord& run, WallTime now) {
  constexpr std::int64_t patience_ms = 30'000;  // with the follower that starts it
  return is_over(run) && run.end && run.end->died_of == out_of_gpu_memory &&
         !run.manifest.spec_of("retry_oom").empty() &&
         now.unix_ms - run.end->at.unix_ms < patience_ms;
}

void note_state(SweepRow& row, WallTime now) {
  row.unknown_looks = row.run->state == RunState::end_unknown ? row.unknown_looks + 1 : 0;
  row.starts_again = is_started_again(*row.run, now);
}

void follow_starts(std::vector<SweepRow>& rows, const std::vector<RunRecord>& runs, WallTime now) {
  for (SweepRow& row : rows) {
    // As many as there are at most: a record that names itself leads nowhere.
    for (std::size_t start = 0; row.starts_again && start < runs.size(); ++start) {
      const auto next = std::ranges::find_if(runs, [&](const RunRecord& run) {
        return run.manifest.retry_of == row.run->manifest.id;
      });
      if (next == runs.end()) break;
      row.run = *next;
      row.unknown_looks = 0;
      note_state(row, now);
    }
  }
}

bool is_open(const SweepRow& row) {
  constexpr int enough_looks = 5;
  if (row.run->state == RunState::end_unknown) return row.unknown_looks < enough_looks;
  return !is_over(*row.run) || row.starts_again;
}

void read_again(std::vector<SweepRow>& rows, const std::string& records, WallTime now) {
  bool is_any_to_follow = false;
  for (SweepRow& row : rows) {
    if (!row.run) continue;
    if (is_open(row)) {
      if (auto read = read_run(row.run->directory, row.run->owner)) row.run = *std::move(read);
    }
    note_state(row, now);
    is_any_to_follow = is_any_to_follow || row.starts_again;
  }
  // One that was started again goes on under the id of its last start.
  const auto list = is_any_to_follow ? list_runs(records) : Result<RunList>(RunList());
  if (list) follow_starts(rows, list->runs, now);
}

std::optional<RunRecord> started_all_the_same(const SweepName& name,
                                              const std::vector<RunRecord>& runs) {
  const auto found = std::ranges::find_if(runs, [&](const RunRecord& run) {
    return sweep_name_in(run.manifest.spec_of("name")) == name && !is_over(run);
  });
  return found == runs.end() ? std::nullopt : std::optional(*found);
}

SweepCount count_of(const std::vector<SweepRow>& rows) {
  SweepCount count{.all = rows.size()};
  for (const SweepRow& row : rows) {
    if (!row.run) continue;
    if (!is_open(row)) {
      ++count.ended;
      if (!ended_well(*row.run)) ++count.badly;
    } else if (row.run->state == RunState::waiting) {
      ++count.waiting;
    } else {
      ++count.running;
    }
  }
  return count;
}

namespace {

bool is_to_start_again(const RunRecord& run, StartAgain again) {
  if (!is_over(run) || ended_well(run)) return false;
  const bool has_own_end = run.state == RunState::ended && run.end && run.end->known &&
                           run.end->because.empty() && !was_never_started(run);
  return again == StartAgain::what_failed || !has_own_end;
}

}  // namespace

void take_earlier_runs(std::vector<SweepRow>& rows, SweepName& name,
                       const std::vector<RunRecord>& runs, StartAgain again) {
  for (const RunRecord& run : runs) {
    const auto its = sweep_name_in(run.manifest.spec_of("name"));
    if (!its || its->sweep != name.sweep || its->point >= rows.size()) continue;
    if (its->time < name.time) continue;
    if (its->time > name.time) {
      name.time = its->time;
      for (SweepRow& row : rows) row.run.reset();
    }
    if (!rows[its->point].run) rows[its->point].run = run;
  }
  if (again == StartAgain::all) {
    ++name.time;
    for (SweepRow& row : rows) row.run.reset();
  }
  for (SweepRow& row : rows) {
    if (row.run && is_to_start_again(*row.run, again)) row.run.reset();
  }
}

std::size_t points_at_a_time(const Snapshot& snapshot, const JobSpec& job) {
  constexpr std::size_t most = 4096;
  std::size_t fit = 0;
  for (const Device& device : snapshot.devices) {
    const auto* bytes = job.request.memory ? std::get_if<Bytes>(&*job.request.memory) : nullptr;
    const auto& total = device.memory_total.get();
    const bool is_share = bytes != nullptr && total && bytes->count() > 0;
    fit += is_share ? std::max<std::uint64_t>(total->count() / bytes->count(), 1) : 1;
  }
  const auto each = static_cast<std::size_t>(std::max(job.request.devices, 1));
  return std::clamp<std::size_t>(fit / each, 1, most);
}

}  // namespace berth
