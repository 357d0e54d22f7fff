#include "smi/calendar.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth::smi {
namespace {

using std::chrono::seconds;

TEST(Calendar, DatesAreReadBackAsWritten) {
  const WallTime when{1'784'016'758'696};
  EXPECT_EQ(date_with_milliseconds(when.unix_ms, seconds(0)), "2026/07/14 08:12:38.696");
  EXPECT_EQ(read_date("2026/07/14 08:12:38.696"), when);
  EXPECT_EQ(date_in_words(when, seconds(0)), "Tue Jul 14 08:12:38 2026");
  EXPECT_EQ(read_date("Tue Jul 14 08:12:38 2026"), WallTime{1'784'016'758'000});
  EXPECT_EQ(read_date("Fri Jul  3 08:33:38 2026"), WallTime{1'783'067'618'000});
  EXPECT_EQ(date_in_words(WallTime{1'783'067'618'000}, seconds(0)), "Fri Jul  3 08:33:38 2026");
}

TEST(Calendar, WallClockIsAsFarFromUtcAsTheCallerSays) {
  EXPECT_EQ(date_in_words(WallTime{1'784'016'758'000}, seconds(8 * 3600)),
            "Tue Jul 14 16:12:38 2026");
}

TEST(Calendar, StampsAreOnTheSameClock) {
  const Stamp stamped = stamp(WallTime{1'784'016'758'696}, seconds(16 * 3600));
  EXPECT_EQ(stamped.date, "20260715");
  EXPECT_EQ(stamped.time, "00:12:38");
}

TEST(Calendar, WhatIsNoDateIsNone) {
  for (const char* text :
       {"", "now", "Tue Jul 14", "Tue Foo 14 08:12:38 2026", "2026/13/01 00:00:00",
        "2026/02/30 00:00:00", "2026/01/01 25:00:00", "2026/01/01 1:2"}) {
    EXPECT_FALSE(read_date(text).has_value()) << text;
  }
}

TEST(Calendar, TimesOutsideOfAllYearsDoNotOverflow) {
  EXPECT_EQ(date_in_words(WallTime{std::numeric_limits<std::int64_t>::max()}, seconds(0)),
            "Fri Dec 31 23:59:59 9999");
  EXPECT_EQ(date_in_words(WallTime{std::numeric_limits<std::int64_t>::min()}, seconds(0)),
            "Sat Jan  1 00:00:00 0");
  EXPECT_EQ(stamp(WallTime{std::numeric_limits<std::int64_t>::max()}, seconds(0)).date, "99991231");
}

}  // namespace
}  // namespace berth::smi
