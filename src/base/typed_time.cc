#include "base/typed_time.h"

#include <ctime>
#include <optional>

#include "base/text.h"

namespace berth {

namespace {

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

/// The next "18:00" of the local day.
std::optional<WallTime> time_of_day(std::string_view text, WallTime now) {
  const auto parts = split(text, ':');
  const auto hour = parts.size() == 2 ? parse_unsigned(parts[0]) : std::nullopt;
  const auto minute = parts.size() == 2 ? parse_unsigned(parts[1]) : std::nullopt;
  if (!hour || !minute || parts[1].size() != 2 || *hour > 23 || *minute > 59) return std::nullopt;
  for (int days = 0; days < 2; ++days) {
    const std::time_t seconds = now.unix_ms / 1000;
    std::tm date{};
    if (::localtime_r(&seconds, &date) == nullptr) return std::nullopt;
    date.tm_mday += days;
    date.tm_hour = static_cast<int>(*hour);
    date.tm_min = static_cast<int>(*minute);
    date.tm_sec = 0;
    date.tm_isdst = -1;
    const WallTime at{std::int64_t{::mktime(&date)} * 1000};
    if (at > now) return at;
  }
  return std::nullopt;
}

}  // namespace

Result<WallTime> parse_wall_time(const std::string& text, WallTime now) {
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

Result<WallTime> parse_start(const std::string& text, WallTime now) {
  auto at = Result<WallTime>(now);
  if (const auto today = time_of_day(text, now)) {
    at = *today;
  } else if (const auto later = parse_duration(text)) {
    if (const auto sure = parse_duration_with_unit(text); !sure) {
      return fail(ErrorCode::invalid, "--at: {}", sure.error().said());
    }
    at = WallTime{now.unix_ms + later->count()};
  } else if (at = parse_wall_time(text, now); !at) {
    return fail(ErrorCode::invalid,
                "--at \"{}\": write 18:00, 2h (from now), or a date (\"2026-11-21 14:30\")",
                printable(text));
  }
  if (*at > now && at->unix_ms < now.unix_ms + 366 * day_ms) return at;
  return fail(ErrorCode::invalid, "--at \"{}\" is not to come within a year", printable(text));
}

}  // namespace berth
