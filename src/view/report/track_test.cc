#include "view/report/track.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth {
namespace {

TEST(Track, AShortSeriesStaysAsItWas) {
  Track track;
  for (int i = 0; i < 10; ++i) track.add(i * 1000, i);
  const auto points = track.points();
  ASSERT_EQ(points.size(), 10U);
  EXPECT_EQ(points[3].at_ms, 3000);
  EXPECT_EQ(points[3].mean, 3);
  EXPECT_TRUE(points[0].begins);
  EXPECT_FALSE(points[3].begins);
}

TEST(Track, AWeekIsBoundedAndLosesNoPeak) {
  Track track;
  constexpr int week = 7 * 24 * 3600;
  for (int i = 0; i < week; ++i) track.add(std::int64_t{i} * 1000, i == 300'000 ? 100 : 10);
  const auto points = track.points();
  EXPECT_LE(points.size(), Track::most_columns);
  EXPECT_GE(points.size(), Track::most_columns / 2);
  EXPECT_EQ(track.most(), 100);
  EXPECT_EQ(track.count(), static_cast<std::uint64_t>(week));
  int peaks = 0;
  for (const auto& point : points) {
    peaks += point.most == 100 ? 1 : 0;
    EXPECT_EQ(point.least, 10);
    EXPECT_NEAR(point.mean, 10, 0.1);
  }
  EXPECT_EQ(peaks, 1);
}

TEST(Track, WhereNothingWasReadIsAGap) {
  Track track;
  track.add(0, 1);
  track.add(1000, 1);
  track.add_absent();
  track.add(3000, 1);
  track.add(20'000, 1);
  track.add(21'000, 1);
  const auto points = track.points();
  ASSERT_EQ(points.size(), 5U);
  EXPECT_FALSE(points[1].begins);
  EXPECT_TRUE(points[2].begins);
  EXPECT_TRUE(points[3].begins);
  EXPECT_FALSE(points[4].begins);
}

TEST(Track, AGapOfAnHourStaysOneInAWeek) {
  Track track;
  for (int i = 0; i < 7 * 24 * 360; ++i) {
    const std::int64_t at_ms = std::int64_t{i} * 10'000;
    if (at_ms < 200'000'000 || at_ms > 206'000'000) track.add(at_ms, 5);
  }
  int gaps = 0;
  for (const auto& point : track.points()) gaps += point.begins ? 1 : 0;
  EXPECT_EQ(gaps, 2) << "the first point, and the one behind the gap";
}

TEST(Track, MarksAreJoinedHoweverFarApart) {
  Track track;
  track.add_mark(0, 1);
  track.add_mark(7'200'000, 2);
  EXPECT_FALSE(track.points().back().begins);
}

TEST(Track, WhatIsNoNumberOrOutOfTheRunIsLeftOut) {
  Track track;
  track.add(-1, 1);
  track.add(0, std::nan(""));
  track.add(0, HUGE_VAL);
  track.add(std::numeric_limits<std::int64_t>::max(), 1);
  EXPECT_TRUE(track.empty());
  EXPECT_FALSE(track.most());
}

}  // namespace
}  // namespace berth
