#include "record/history/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace berth::history {
namespace {

std::vector<std::int64_t> one_to(std::int64_t last) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

TEST(Rollup, SaysLeastMeanP95AndMost) {
  auto numbers = one_to(100);
  EXPECT_EQ(rollup_of(numbers),
            (Rollup{.samples = 100, .least = 1, .mean = 51, .p95 = 95, .most = 100}));
}

TEST(Rollup, OfOneNumberIsThatNumber) {
  std::vector<std::int64_t> one = {-7};
  EXPECT_EQ(rollup_of(one), (Rollup{.samples = 1, .least = -7, .mean = -7, .p95 = -7, .most = -7}));
}

TEST(Rollup, OfNothingIsNothing) {
  std::vector<std::int64_t> none;
  EXPECT_EQ(rollup_of(none), std::nullopt);
}

TEST(Rollup, MergedHasTheMeanOfAllAndNoTooLowP95) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> a(1 + random() % 60);
    std::vector<std::int64_t> b(1 + random() % 60);
    for (auto& one : a) one = static_cast<std::int64_t>(random() % 1000);
    for (auto& one : b) one = static_cast<std::int64_t>(random() % 2000);
    std::vector<std::int64_t> both = a;
    both.insert(both.end(), b.begin(), b.end());
    const Rollup whole = *rollup_of(both);
    const Rollup sum = merged(*rollup_of(a), *rollup_of(b));
    EXPECT_EQ(sum.samples, whole.samples);
    EXPECT_EQ(sum.least, whole.least);
    EXPECT_EQ(sum.most, whole.most);
    EXPECT_NEAR(static_cast<double>(sum.mean), static_cast<double>(whole.mean), 1.0);
    EXPECT_GE(sum.p95, whole.p95);
  }
}

TEST(Rollup, RowComesBackWithItsGaps) {
  RollupRow row(per_row(Level::minute));
  row[3] = Rollup{.samples = 60, .least = -5, .mean = 100, .p95 = 240, .most = 250};
  row[59] = Rollup{.samples = 1, .least = 1, .mean = 1, .p95 = 1, .most = 1};
  const auto back = decode_rollups(encode_rollups(row), Level::minute);
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(*back, row);
}

TEST(Rollup, RowOfAnotherLevelIsRefused) {
  const std::string block = encode_rollups(RollupRow(per_row(Level::hour)));
  EXPECT_FALSE(decode_rollups(block, Level::minute).has_value());
}

using Times = std::vector<std::int64_t>;
using Entries = std::vector<Entry>;

TEST(Points, OfACounterAreItsGrowthPerSecond) {
  const Times times = {0, 1000, 3000};
  const Entries entries = {Entry(100), Entry(300), Entry(1300)};
  EXPECT_THAT(points_of(*find_metric("energy_millijoules"), times, entries),
              testing::ElementsAre(Point{1000, 200}, Point{3000, 500}));
}

TEST(Points, OfACounterLeaveOutWhereItWentBackOrNobodyLooked) {
  const Times times = {0, 1000, 2000, 60'000, 61'000};
  const Entries entries = {Entry(900), Entry(100), Entry(200), Entry(900), Entry(1000)};
  EXPECT_THAT(points_of(*find_metric("energy_millijoules"), times, entries),
              testing::ElementsAre(Point{2000, 100}, Point{61'000, 100}));
}

TEST(Points, OfACounterGoOnFromTheChunkBefore) {
  const Times times = {1000};
  const Entries entries = {Entry(150)};
  EXPECT_THAT(points_of(*find_metric("pcie_sent_bytes"), times, entries, Point{0, 100}),
              testing::ElementsAre(Point{1000, 50}));
}

TEST(Points, LeaveOutWhatIsAbsent) {
  const Times times = {0, 1000, 2000};
  const Entries entries = {Entry(5), Entry(Absent::failed), Entry(6)};
  EXPECT_THAT(points_of(*find_metric("temperature_celsius"), times, entries),
              testing::ElementsAre(Point{0, 5}, Point{2000, 6}));
}

TEST(FloorTo, AlsoBefore1970) {
  EXPECT_EQ(floor_to(61'000, 60'000), 60'000);
  EXPECT_EQ(floor_to(-1, 60'000), -60'000);
  EXPECT_EQ(floor_to(-60'000, 60'000), -60'000);
}

}  // namespace
}  // namespace berth::history
