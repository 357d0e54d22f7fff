#include "base/typed_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <optional>

#include "base/sentence.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t minute_ms = 60'000;

/// Of this machine's calendar, whatever its time zone.
WallTime local(int year, int month, int day, int hour = 0, int minute = 0) {
  std::tm date{};
  date.tm_year = year - 1900;
  date.tm_mon = month - 1;
  date.tm_mday = day;
  date.tm_hour = hour;
  date.tm_min = minute;
  date.tm_isdst = -1;
  return WallTime{std::int64_t{std::mktime(&date)} * 1000};
}
const WallTime now = local(2026, 11, 20, 14, 30);

std::optional<WallTime> past(const std::string& text) {
  const auto read = parse_wall_time(text, now);
  return read ? std::optional(*read) : std::nullopt;
}
std::optional<WallTime> start(const std::string& text) {
  const auto read = parse_start(text, now);
  return read ? std::optional(*read) : std::nullopt;
}

TEST(TypedTime, IsADateOrHowLongAgo) {
  EXPECT_EQ(past("now"), now);
  EXPECT_EQ(past("90m"), (WallTime{now.unix_ms - 90 * minute_ms}));
  EXPECT_EQ(past("2026-11-19"), local(2026, 11, 19));
  EXPECT_EQ(past("2026-11-19 08:05"), local(2026, 11, 19, 8, 5));
  EXPECT_EQ(past("2026-11-19T08:05"), local(2026, 11, 19, 8, 5));
}

TEST(TypedTime, OfADayThatIsNotThereIsNone) {
  for (const char* text : {"2026-02-31", "2026-13-01", "2026-00-10", "2026-11-19 24:00",
                           "2026-11-19 08:60", "2026-11-19x08:05", "2026/11/19", "soon", ""}) {
    EXPECT_EQ(past(text), std::nullopt) << text;
  }
  EXPECT_THAT(parse_wall_time("soon", now).error().message(), HasSubstr("2026-11-21 14:30"));
}

TEST(TypedStart, IsTheNextTimeThatTheClockShowsIt) {
  EXPECT_EQ(start("18:00"), local(2026, 11, 20, 18, 0));
  EXPECT_EQ(start("9:15"), local(2026, 11, 21, 9, 15));
  EXPECT_EQ(start("14:30"), local(2026, 11, 21, 14, 30));
}

TEST(TypedStart, IsHowFarFromNowWithAUnitOrADate) {
  EXPECT_EQ(start("2h"), (WallTime{now.unix_ms + 120 * minute_ms}));
  EXPECT_EQ(start("2026-12-01"), local(2026, 12, 1));
  EXPECT_EQ(start("90"), std::nullopt);
  EXPECT_THAT(parse_start("90", now).error().message(), HasSubstr("90m"));
}

TEST(TypedStart, IsToComeWithinAYear) {
  for (const char* text :
       {"now", "0h", "2026-11-19", "2028-01-01", "400d", "24:00", "12:60", "12:5", "midnight"}) {
    EXPECT_EQ(start(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
