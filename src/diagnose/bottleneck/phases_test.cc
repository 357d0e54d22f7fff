#include "diagnose/bottleneck/phases.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

/// Half-second points: each pair is how busy, and for how many points.
std::vector<LoadPoint> points_of(const std::vector<std::pair<double, int>>& parts) {
  std::vector<LoadPoint> points;
  std::int64_t at = 0;
  for (const auto& [busy, count] : parts) {
    for (int i = 0; i < count; ++i, at += 500) {
      points.push_back({Milliseconds(at), Milliseconds(at + 500), busy});
    }
  }
  return points;
}

TEST(Phases, PausesThatRepeatAreToldWithPeriodLengthAndShare) {
  const auto points = points_of({{0.95, 16}, {0.0, 4}, {0.95, 16}, {0.02, 4}, {0.95, 16}});
  const Phases got = phases_of(points);
  ASSERT_TRUE(got.repeating);
  EXPECT_EQ(got.repeating->count, 2U);
  EXPECT_EQ(got.repeating->period, Milliseconds(10'000));
  EXPECT_EQ(got.repeating->length, Milliseconds(2'000));
  EXPECT_NEAR(got.repeating->share, 4.0 / 28, 1e-9);
  EXPECT_NEAR(got.busy_between, 0.95, 1e-9);
}

TEST(Phases, APauseReachesIntoThePointsInWhichItBeginsAndEnds) {
  const Phases got =
      phases_of(points_of({{1, 8}, {0.5, 1}, {0, 1}, {0.5, 1}, {1, 8}, {0.6, 1}, {0, 2}, {1, 8}}));
  ASSERT_TRUE(got.repeating);
  EXPECT_EQ(got.pauses[0].length(), Milliseconds(1000));
  EXPECT_EQ(got.pauses[1].length(), Milliseconds(1200));
}

TEST(Phases, StartUpAndTailAreNoPauses) {
  const Phases got = phases_of(points_of({{0, 20}, {0.9, 40}, {0, 10}}));
  ASSERT_TRUE(got.startup && got.working && got.tail);
  EXPECT_EQ(got.startup->length(), Milliseconds(10'000));
  EXPECT_EQ(got.working->length(), Milliseconds(20'000));
  EXPECT_EQ(got.tail->length(), Milliseconds(5'000));
  EXPECT_TRUE(got.pauses.empty());
  EXPECT_FALSE(got.repeating);
}

TEST(Phases, PausesAtIrregularDistancesDoNotRepeat) {
  const Phases got = phases_of(points_of(
      {{0.95, 4}, {0, 3}, {0.95, 50}, {0, 3}, {0.95, 6}, {0, 3}, {0.95, 90}, {0, 3}, {0.95, 9}}));
  EXPECT_EQ(got.pauses.size(), 4U);
  EXPECT_FALSE(got.repeating);
}

TEST(Phases, AGpuThatIsHalfIdleBetweenPausesHasNoRepeatingOnes) {
  const Phases got = phases_of(points_of({{0.5, 10}, {0, 4}, {0.5, 10}, {0, 4}, {0.5, 10}}));
  EXPECT_EQ(got.pauses.size(), 2U);
  EXPECT_FALSE(got.repeating);
  EXPECT_NEAR(got.busy_between, 0.5, 1e-9);
}

TEST(Phases, AStillGpuNeverWorked) {
  const Phases got = phases_of(points_of({{0.01, 30}}));
  EXPECT_EQ(got.whole, Milliseconds(15'000));
  EXPECT_FALSE(got.working);
  EXPECT_TRUE(phases_of({}).pauses.empty());
}

TEST(Phases, ShortGapsAreNoPauses) {
  EXPECT_TRUE(phases_of(points_of({{0.9, 5}, {0, 1}, {0.9, 5}, {0, 1}, {0.9, 5}})).pauses.empty());
}

TEST(LoadPoints, AreTheMeanOfTheDevicesAndLeaveOutWhatIsUnknown) {
  const auto sample = [](std::int64_t at, std::vector<Reading<Percent>> busy) {
    Sample one{.at = {at}};
    for (const auto& reading : busy) one.devices.push_back({.utilization_gpu = reading});
    return one;
  };
  const std::vector<Sample> samples = {
      sample(1000, {Percent(0)}), sample(2000, {Percent(40), Percent(80)}),
      sample(3000, {Absent::failed, Percent(50)}), sample(4000, {Absent::failed, Absent::failed}),
      sample(400'000, {Percent(10), Percent(10)})};
  const auto points = load_points(samples);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(points[0].busy, 0.6, 1e-9);
  EXPECT_EQ(points[0].from, Milliseconds(0));
  EXPECT_NEAR(points[1].busy, 0.5, 1e-9);
  EXPECT_EQ(points[1].to, Milliseconds(2000));
}

}  // namespace
}  // namespace berth
