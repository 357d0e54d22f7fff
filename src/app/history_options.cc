#include "app/history_options.h"

#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "app/past_runs.h"
#include "base/fd.h"
#include "base/text.h"
#include "record/history/store.h"

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

std::optional<std::tm> local_date(std::string_view text) {
  // "2026-11-21", "2026-11-21 14:30", "2026-11-21T14:30"
  if (text.size() != 10 && text.size() != 16) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    return parse_unsigned(text.substr(at, length));
  };
  const auto year = number(0, 4);
  const auto month = number(5, 2);
  const auto day = number(8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return std::nullopt;
  std::tm date{};
  date.tm_year = static_cast<int>(*year) - 1900;
  date.tm_mon = static_cast<int>(*month) - 1;
  date.tm_mday = static_cast<int>(*day);
  date.tm_isdst = -1;
  if (*month < 1 || *month > 12 || *day < 1 || *day > 31) return std::nullopt;
  if (text.size() == 10) return date;
  const auto hour = number(11, 2);
  const auto minute = number(14, 2);
  if (!hour || !minute || (text[10] != ' ' && text[10] != 'T') || text[13] != ':') {
    return std::nullopt;
  }
  date.tm_hour = static_cast<int>(*hour);
  date.tm_min = static_cast<int>(*minute);
  if (*hour > 23 || *minute > 59) return std::nullopt;
  return date;
}

}  // namespace

Result<WallTime> parse_time(const std::string& text, WallTime now) {
  if (text == "now") return now;
  if (auto date = local_date(text)) {
    const std::tm typed = *date;
    const std::time_t seconds = ::mktime(&*date);
    // What is no date (31 February) it takes for another; an hour that the clocks skip it may move.
    const bool is_that_day = date->tm_mday == typed.tm_mday && date->tm_mon == typed.tm_mon;
    if (seconds != -1 && is_that_day) return WallTime{std::int64_t{seconds} * 1000};
  }
  const auto ago = parse_duration(text);
  if (ago) return WallTime{now.unix_ms - ago->count()};
  return fail(ErrorCode::invalid,
              "\"{}\" is no time: write how long ago (90m, 12h, 7d) or a date (2026-11-21, "
              "\"2026-11-21 14:30\")",
              printable(text));
}

void HistoryOptionWords::declare(Options& options) {
  options.filled_value("--since", since_, "from when on: how long ago, or a date", "TIME");
  options.filled_value("--until", until_, "until when (now)", "TIME");
  options.filled_value("--store", store_, "the history's file, if not the usual one", "FILE");
}

Result<HistoryOptionWords::Window> HistoryOptionWords::window(
    WallTime now, const std::string& default_since) const {
  const auto until = until_.empty() ? Result<WallTime>(now) : parse_time(until_, now);
  if (!until) return std::unexpected(until.error());
  // Nothing can be said of the future, not even that nobody looked.
  const WallTime end{std::min(until->unix_ms, now.unix_ms)};
  const auto since = parse_time(since_.empty() ? default_since : since_, now);
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

}  // namespace berth
