#include "top/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>

#include <cmath>
#include <cstdint>

#include "snapshot/builder.h"
#include "top/chart.h"

namespace berth::top {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::Optional;

/// Its least and its most.
std::pair<float, float> ends(const Aggregate<float>& column) {
  return {column.least(), column.most()};
}

TEST(Series, SpikeIsSeenHoweverManySamplesAColumnHas) {
  Series series;
  for (int i = 0; i < 64; ++i) series.add(i == 17 ? 99.0F : 1.0F);
  const auto columns = series.columns(4, 16);
  ASSERT_FALSE(columns[1].is_empty());
  EXPECT_EQ(ends(columns[1]), std::pair(1.0F, 99.0F));
  EXPECT_EQ(ends(columns[0]), std::pair(1.0F, 1.0F));
}

TEST(Series, SamplesStayInTheirColumnAsTimeGoesOn) {
  Series series;
  for (int i = 0; i < 8; ++i) series.add(static_cast<float>(i));
  EXPECT_EQ(ends(series.columns(3, 4)[2]), std::pair(4.0F, 7.0F));
  series.add(8.0F);
  EXPECT_EQ(ends(series.columns(3, 4)[2]), std::pair(8.0F, 8.0F));
  EXPECT_EQ(ends(series.columns(3, 4)[1]), std::pair(4.0F, 7.0F));
}

TEST(History, MeanOfDevicesIsOverThoseThatTell) {
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).gpu("B", 10_GiB).gpu("C", 10_GiB).build();
  host.devices[0].utilization_gpu = Percent(20);
  host.devices[1].utilization_gpu = Percent(60);
  host.devices[2].utilization_gpu = Absent::failed;
  EXPECT_THAT(mean_of_devices(host).busy, Optional(40.0F));
  for (Device& device : host.devices) device.utilization_gpu = Absent::failed;
  EXPECT_EQ(mean_of_devices(host).busy, std::nullopt) << "nobody tells: not 0";
}

TEST(History, HostsLookThatWasMissedIsAGap) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).build();
  for (const std::int64_t second : {0, 1, 3}) {
    host.taken.unix_ms = second * 1000;
    history.add(host);
    history.add_host({.cpu_percent = 10.0 * static_cast<double>(second)});
  }
  EXPECT_EQ(history.host().cpu.size(), 4U);
  EXPECT_TRUE(history.host().cpu.columns(4, 1)[2].is_empty());
  EXPECT_THAT(history.host().cpu.latest(), Optional(30.0F));
}

TEST(Series, FullRingForgetsTheOldest) {
  Series series(3);
  for (int i = 0; i < 5; ++i) series.add(static_cast<float>(i));
  const auto columns = series.columns(5, 1);
  EXPECT_TRUE(columns[1].is_empty());
  EXPECT_EQ(ends(columns[2]), std::pair(2.0F, 2.0F));
  EXPECT_EQ(ends(columns[4]), std::pair(4.0F, 4.0F));
  EXPECT_EQ(series.latest(), 4.0F);
}

TEST(Series, MostIsTheGreatestOfThoseThatAreKept) {
  std::mt19937 random(7);
  Series series(5);
  EXPECT_EQ(series.most(), std::nullopt);
  std::deque<std::optional<float>> kept;
  for (int i = 0; i < 500; ++i) {
    const unsigned drawn = random() % 8;
    const auto value = drawn == 0 ? std::nullopt : std::optional(static_cast<float>(drawn) - 4);
    series.add(value);
    kept.push_back(value);
    if (kept.size() > 5) kept.pop_front();
    ASSERT_EQ(series.most(), std::ranges::max(kept)) << i;
  }
}

TEST(Series, AbsentSampleIsAGapAndNotZero) {
  Series series;
  series.add(50.0F);
  series.add(std::nullopt);
  series.add(50.0F);
  const auto columns = series.columns(3, 1);
  EXPECT_FALSE(columns[0].is_empty());
  EXPECT_TRUE(columns[1].is_empty());
}

TEST(History, TimeInWhichNobodyLookedIsAGap) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).utilization(40_percent).build();
  history.add(host);
  host.taken.unix_ms += 4000;
  history.add(host);
  const auto columns = history.device(DeviceId("A"))->of("utilization_gpu_percent").columns(5, 1);
  EXPECT_FALSE(columns[0].is_empty());
  EXPECT_TRUE(columns[2].is_empty());
  EXPECT_FALSE(columns[4].is_empty());
}

TEST(History, DeviceThatComesBackGoesOnWhereItWas) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).utilization(40_percent).build();
  history.add(host);
  Snapshot without;
  without.taken.unix_ms = host.taken.unix_ms + 1000;
  history.add(without);
  host.taken.unix_ms += 2000;
  history.add(host);
  EXPECT_EQ(history.device(DeviceId("A"))->of("utilization_gpu_percent").size(), 3U);
}

TEST(History, ProcessThatComesBackHasAGapInItsCharts) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).process(7, "x", 1_GiB).build();
  history.add(host);
  Snapshot without = host;
  without.gpu_processes.clear();
  without.taken.unix_ms += 1000;
  history.add(without);
  host.taken.unix_ms += 2000;
  history.add(host);
  const ProcessHistory* process = history.process(DeviceId("A"), host.processes[0].id);
  ASSERT_NE(process, nullptr);
  EXPECT_THAT(process->memory.columns(3, 1),
              ElementsAre(Aggregate<float>(1), Aggregate<float>(), Aggregate<float>(1)));
}

TEST(History, CpuOfAProcessIsWhatItUsedBetweenLooks) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).process(7, "x", 1_GiB).build();
  host.processes[0].cpu_time = Milliseconds(1000);
  history.add(host);
  host.taken.unix_ms += 1000;
  host.processes[0].cpu_time = Milliseconds(1500);
  history.add(host);
  const ProcessHistory* process = history.process(DeviceId("A"), {.pid = 7, .start_ticks = 1});
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->cpu.latest(), 50.0F);
  EXPECT_EQ(history.cpu().of({.pid = 7, .start_ticks = 1}), 50.0);
  EXPECT_EQ(history.cpu().of({.pid = 7, .start_ticks = 2}), std::nullopt)
      << "another of its number";
  EXPECT_EQ(process->memory.latest(), 1.0F);
}

TEST(History, CpuIsAbsentWhereTheCounterWentBackOrALookIsMissing) {
  CpuShares shares;
  Snapshot host =
      SnapshotBuilder().gpu("A", 10_GiB).process(9, "x", 1_GiB).process(7, "y", 1_GiB).build();
  const auto look = [&](std::int64_t second, int used_by_9) {
    host.taken.unix_ms = second * 1000;
    for (HostProcess& process : host.processes) process.cpu_time = Milliseconds(second * 250);
    host.processes[0].cpu_time = Milliseconds(used_by_9);
    shares.add(host);
  };
  look(1, 500);
  EXPECT_EQ(shares.of(host.processes[1].id), std::nullopt) << "of one look";
  look(2, 400);
  EXPECT_EQ(shares.of(host.processes[0].id), std::nullopt);
  EXPECT_EQ(shares.of(host.processes[1].id), 25.0);
  shares.add(Snapshot{});
  look(3, 800);
  EXPECT_EQ(shares.of(host.processes[1].id), std::nullopt);
}

TEST(History, CpuIsOfTheTimeBetweenReadingsNotBetweenTheBeginningsOfLooks) {
  CpuShares shares;
  Snapshot host = SnapshotBuilder().gpu("A", 10_GiB).process(9, "x", 1_GiB).build();
  HostProcess& process = host.processes[0];
  host.taken.unix_ms = 1000;
  process.read = WallTime{1010};
  process.cpu_time = Milliseconds(0);
  shares.add(host);
  host.taken.unix_ms = 2000;  // a driver that took 700 ms longer than the second before
  process.read = WallTime{2710};
  process.cpu_time = Milliseconds(1700);
  shares.add(host);
  EXPECT_EQ(shares.of(process.id), 100.0);
  host.taken.unix_ms = 3000;  // recorded on by a version that does not tell it
  process.read.reset();
  process.cpu_time = Milliseconds(2200);
  shares.add(host);
  EXPECT_EQ(shares.of(process.id), 50.0);
}

TEST(History, HostileTimesAreSurvived) {
  History history(std::chrono::seconds(1));
  Snapshot host = SnapshotBuilder().gpu("A", 0_B).process(7, "x", 1_GiB).build();
  for (const std::int64_t time :
       {std::int64_t{0}, INT64_MAX, INT64_MIN, std::int64_t{5}, INT64_MAX - 1}) {
    host.taken.unix_ms = time;
    host.processes[0].cpu_time = Milliseconds(time);
    history.add(host);
  }
  EXPECT_LE(history.device(DeviceId("A"))->of("power_draw_milliwatts").size(), 4096U);
}

TEST(Chart, StepIsAConnectedLine) {
  const std::vector<Aggregate<float>> columns = {Aggregate<float>(0), Aggregate<float>(100)};
  EXPECT_THAT(chart(columns, 100, 2, 2, Dots::ascii), ElementsAre(" :", ".'"));
}

TEST(Chart, SpikeReachesFromLeastToMost) {
  const std::vector<Aggregate<float>> columns = {{2, 0, 50, 100}, {}};
  EXPECT_THAT(chart(columns, 100, 1, 1, Dots::braille), ElementsAre("⡇"));
  EXPECT_THAT(chart(columns, 100, 2, 2, Dots::ascii), ElementsAre(": ", ": "));
}

TEST(Chart, ValuesAboveTheTopAndBrokenOnesStayInside) {
  const std::vector<Aggregate<float>> columns = {{2, -5, 0, 1e30F}, Aggregate<float>(NAN)};
  EXPECT_EQ(chart(columns, 100, 2, 3, Dots::ascii).size(), 3U);
  EXPECT_EQ(chart(columns, 0, 2, 3, Dots::braille).size(), 3U);
}

}  // namespace
}  // namespace berth::top
