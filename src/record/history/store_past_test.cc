// What HistoryStore::fill_past writes of a simulated server's weeks before the first look.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/temporary_directory.h"
#include "record/history/reader.h"
#include "record/history/store.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::SizeIs;

constexpr std::int64_t hour = 3'600'000;
constexpr std::int64_t now_ms = 1'760'000'400'000 / hour * hour + 24 * hour;
constexpr double load_by_day = 80;

/// Alice computes in the first half of each hour, and has the card all the time.
Snapshot past_at(WallTime at) {
  Snapshot snapshot = SnapshotBuilder().gpu("GPU-a", 80_GiB).used(10_GiB).claim("alice").build();
  snapshot.taken = at;
  snapshot.simulated = "used-for-weeks";
  Device& device = snapshot.devices[0];
  const std::int64_t in_hour = at.unix_ms % hour;
  device.utilization_gpu = Percent(in_hour < hour / 2 ? load_by_day : 0);
  device.energy = Millijoules(static_cast<std::uint64_t>(at.unix_ms - now_ms / 2) / 10);
  snapshot.claims[0].run = "run-1";
  snapshot.claims[0].since = {now_ms - 1000 * hour};
  return snapshot;
}

class HistoryPast : public testing::Test {
 protected:
  HistoryPast() { clock.set_wall({now_ms}); }
  HistoryStore opened() {
    auto store = HistoryStore::open(path, {}, clock);
    EXPECT_TRUE(store.has_value()) << store.error().message();
    return *std::move(store);
  }
  HistorySeries load(std::chrono::hours before, std::size_t points,
                     const std::string& metric = "utilization_gpu_percent") {
    auto reader = HistoryReader::open(path);
    EXPECT_TRUE(reader.has_value()) << reader.error().message();
    const auto got = reader->series({.devices = {DeviceId("GPU-a")},
                                     .metric = metric,
                                     .since = {now_ms - std::chrono::milliseconds(before).count()},
                                     .until = {now_ms},
                                     .points = points});
    EXPECT_TRUE(got.has_value()) << got.error().message();
    return got ? got->front() : HistorySeries{};
  }

  TemporaryDirectory directory;
  std::string path = directory / "history.sqlite";
  FakeClock clock;
};

TEST_F(HistoryPast, EachRangeHasItsPointsFromTheFirstMoment) {
  HistoryStore store = opened();
  const auto done = store.fill_past(past_at, std::chrono::days(28));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_GT(load(std::chrono::days(28), 672).points.size(), 660U);
  EXPECT_GT(load(std::chrono::days(1), 1440).points.size(), 1430U);
  EXPECT_GT(load(std::chrono::hours(1), 360).points.size(), 350U);
  for (const SeriesPoint& point : load(std::chrono::days(14), 336).points) {
    EXPECT_NEAR(point.mean, load_by_day / 2, 1) << "at " << point.at.unix_ms - now_ms;
    EXPECT_EQ(point.most, load_by_day);
    EXPECT_EQ(point.least, 0);
  }
}

TEST_F(HistoryPast, WhatOnlyDetailsTellHasItsWeeksToo) {
  HistoryStore store = opened();
  const auto with_details = [](WallTime at) {
    Snapshot snapshot = past_at(at);
    Details& details = snapshot.devices[0].details;
    details.set(Detail::nvlink_sent_rate, Reading<BytesPerSecond>(BytesPerSecond(24'000'000'000)));
    details.set(Detail::activity_tensor, Reading<Percent>(Percent(52)));
    details.set(Detail::activity_dram, Reading<Percent>(Absent::unsupported));
    return snapshot;
  };
  ASSERT_TRUE(store.fill_past(with_details, std::chrono::days(28)));
  for (const int hours : {28 * 24, 24, 1}) {
    const auto last = [&](const std::string& metric) {
      const HistorySeries series = load(std::chrono::hours(hours), 300, metric);
      return series.points.empty() ? std::nullopt : std::optional(series.points.back().mean);
    };
    EXPECT_EQ(last("nvlink_sent_rate_bytes_per_second"), 24e9) << hours;
    EXPECT_EQ(last("activity_tensor_percent"), 52) << hours;
    EXPECT_EQ(last("activity_dram_percent"), std::nullopt) << "the card has none: " << hours;
    EXPECT_EQ(last("activity_sm_percent"), std::nullopt) << "nobody has asked: " << hours;
  }
  EXPECT_EQ(load(std::chrono::hours(1), 9, "nvlink_sent_rate_bytes_per_second").unit, "bytes/s");
}

TEST_F(HistoryPast, UsageIsOfTheWholePastByCounters) {
  HistoryStore store = opened();
  ASSERT_TRUE(store.fill_past(past_at, std::chrono::days(28)));
  auto reader = HistoryReader::open(path);
  ASSERT_TRUE(reader);
  const auto usage = reader->usage({.since = {now_ms - 28 * 24 * hour}, .until = {now_ms}});
  ASSERT_TRUE(usage) << usage.error().message();
  ASSERT_THAT(usage->rows, SizeIs(1));
  EXPECT_EQ(usage->rows[0].key, "alice");
  EXPECT_NEAR(usage->rows[0].gpu_hours, 28 * 24, 2);
}

TEST_F(HistoryPast, IsNotWrittenTwice) {
  {
    HistoryStore store = opened();
    ASSERT_TRUE(store.fill_past(past_at, std::chrono::days(2)));
  }
  const HistorySeries first = load(std::chrono::days(2), 48);
  HistoryStore again = opened();
  int looks = 0;
  ASSERT_TRUE(
      again.fill_past([&](WallTime at) { return ++looks, past_at(at); }, std::chrono::days(28)));
  EXPECT_EQ(looks, 0) << "what is there already is asked for again";
  EXPECT_EQ(load(std::chrono::days(2), 48).points.size(), first.points.size());
}

TEST_F(HistoryPast, WhatNobodyServedIsFilledIn) {
  {
    HistoryStore store = opened();
    ASSERT_TRUE(store.fill_past(past_at, std::chrono::days(2)));
  }
  clock.set_wall({now_ms + 5 * hour});
  HistoryStore again = opened();
  std::optional<WallTime> first;
  ASSERT_TRUE(again.fill_past(
      [&](WallTime at) {
        if (!first) first = at;
        return past_at(at);
      },
      std::chrono::days(28)));
  ASSERT_TRUE(first);
  EXPECT_GE(first->unix_ms, now_ms) << "only what is missing";
}

}  // namespace
}  // namespace berth
