#include "smi/calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth::smi {

namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays = {"Sun", "Mon", "Tue", "Wed",
                                                      "Thu", "Fri", "Sat"};

struct Moment {
  year_month_day date{};
  hh_mm_ss<milliseconds> time;
  unsigned day_of_week = 0;
};

Moment moment_of(std::int64_t unix_ms, seconds utc_offset) {
  // Years 0 to 9999: a snapshot from a stranger may say anything.
  constexpr std::int64_t first = -62'167'219'200'000;
  constexpr std::int64_t last = 253'402'300'799'999;
  const sys_time<milliseconds> when{milliseconds(std::clamp(unix_ms, first, last)) + utc_offset};
  const auto day = floor<days>(when);
  return {year_month_day(day), hh_mm_ss<milliseconds>(when - day), weekday(day).c_encoding()};
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
  const auto value = parse_unsigned(text);
  return value && *value <= most ? value : std::nullopt;
}

/// "08:12:38" or "08:12:38.696".
std::optional<milliseconds> time_of_day(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const auto fraction = split(parts[2], '.');
  const auto hour = number(parts[0], 23);
  const auto minute = number(parts[1], 59);
  const auto second = number(fraction[0], 60);
  const auto milli =
      fraction.size() == 2 ? number(fraction[1], 999) : std::optional<std::uint64_t>(0);
  if (!hour || !minute || !second || !milli || fraction.size() > 2) return std::nullopt;
  return milliseconds(((*hour * 60 + *minute) * 60 + *second) * 1000 + *milli);
}

std::optional<WallTime> as_wall_time(std::optional<std::uint64_t> y, std::optional<std::uint64_t> m,
                                     std::optional<std::uint64_t> d,
                                     std::optional<milliseconds> time) {
  if (!y || !m || !d || !time) return std::nullopt;
  const year_month_day date{year(static_cast<int>(*y)), month(static_cast<unsigned>(*m)),
                            day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  const sys_time<milliseconds> when = sys_days(date) + *time;
  return WallTime{when.time_since_epoch().count()};
}

std::string clock_text(const Moment& at) {
  return fmt::format("{:02}:{:02}:{:02}", at.time.hours().count(), at.time.minutes().count(),
                     at.time.seconds().count());
}

}  // namespace

std::string date_in_words(WallTime time, seconds utc_offset) {
  const Moment at = moment_of(time.unix_ms, utc_offset);
  return fmt::format("{} {} {:2} {} {}", weekdays.at(at.day_of_week),
                     months.at(unsigned(at.date.month()) - 1), unsigned(at.date.day()),
                     clock_text(at), int(at.date.year()));
}

std::string date_with_milliseconds(std::int64_t unix_ms, seconds utc_offset) {
  const Moment at = moment_of(unix_ms, utc_offset);
  return fmt::format("{:04}/{:02}/{:02} {}.{:03}", int(at.date.year()), unsigned(at.date.month()),
                     unsigned(at.date.day()), clock_text(at), at.time.subseconds().count());
}

Stamp stamp(WallTime when, seconds utc_offset) {
  const Moment at = moment_of(when.unix_ms, utc_offset);
  return {.date = fmt::format("{:04}{:02}{:02}", int(at.date.year()), unsigned(at.date.month()),
                              unsigned(at.date.day())),
          .time = clock_text(at)};
}

std::optional<WallTime> read_date(std::string_view text) {
  const auto words = words_in(text);
  if (words.size() == 5) {
    const auto found = std::ranges::find(months, words[1]);
    if (found == months.end()) return std::nullopt;
    return as_wall_time(number(words[4], 9999), std::uint64_t(found - months.begin()) + 1,
                        number(words[2], 31), time_of_day(words[3]));
  }
  if (words.size() != 2) return std::nullopt;
  const auto date = split(words[0], '/');
  if (date.size() != 3) return std::nullopt;
  return as_wall_time(number(date[0], 9999), number(date[1], 12), number(date[2], 31),
                      time_of_day(words[1]));
}

}  // namespace berth::smi
