#include "serve/metrics_window.h"

#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth::serve {
namespace {

using namespace literals;
using std::chrono::seconds;

Instant at_second(int second) { return Instant(seconds(second)); }

Snapshot with_power(std::uint64_t watts) {
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .with([&](Device& device) {
        device.power_draw = Milliwatts{watts * 1000};
        device.utilization_history = Absent::unsupported;
      })
      .build();
}

const WindowStatistic* window_of(const WindowKeeper& keeper, std::string_view key) {
  return keeper.statistics().of(DeviceId("A"))->of(key);
}
const WindowStatistic& power_window(const WindowKeeper& keeper) {
  return *window_of(keeper, "power_draw_milliwatts");
}

TEST(Window, KeepsASpikeThatLastedOneLook) {
  WindowKeeper keeper;
  for (int second = 0; second < 30; ++second) {
    keeper.add(with_power(second == 7 ? 700 : 100), at_second(second));
  }
  EXPECT_EQ(power_window(keeper).looks.most(), 700'000);
  EXPECT_EQ(power_window(keeper).looks.least(), 100'000);
  EXPECT_EQ(power_window(keeper).looks.mean(), 120'000);
  EXPECT_EQ(power_window(keeper).p95, 100'000);
  EXPECT_EQ(keeper.statistics().looks, 30U);
  EXPECT_EQ(keeper.statistics().span, seconds(29));
}

TEST(Window, ForgetsWhatIsOlderThanItsLength) {
  WindowKeeper keeper(seconds(60));
  keeper.add(with_power(700), at_second(0));
  for (int second = 1; second < 60; ++second) keeper.add(with_power(100), at_second(second));
  EXPECT_EQ(power_window(keeper).looks.most(), 700'000);
  keeper.add(with_power(100), at_second(60));
  EXPECT_EQ(power_window(keeper).looks.most(), 100'000);
  EXPECT_EQ(keeper.statistics().looks, 60U);
}

TEST(Window, SeesWhatTheDriverSampledBetweenTwoLooks) {
  Snapshot host = with_power(100);
  host.devices[0].details.set(Detail::window_power_min, Reading<Milliwatts>(Milliwatts{90'000}));
  host.devices[0].details.set(Detail::window_power_mean, Reading<Milliwatts>(Milliwatts{200'000}));
  host.devices[0].details.set(Detail::window_power_max, Reading<Milliwatts>(Milliwatts{650'000}));
  WindowKeeper keeper;
  keeper.add(host, at_second(0));
  EXPECT_EQ(power_window(keeper).looks, (Aggregate<>{1, 90'000, 200'000, 650'000}));
  EXPECT_EQ(power_window(keeper).p95, 200'000);
}

TEST(Window, TakesOfTheDriversHistoryWhatIsNewerThanTheLookBefore) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).utilization(10_percent).build();
  WindowKeeper keeper;
  keeper.add(host, at_second(0));
  host.devices[0].utilization_history =
      std::vector<UtilizationSample>{{Milliseconds{100}, 40_percent},
                                     {Milliseconds{900}, 80_percent},
                                     {Milliseconds{1500}, 100_percent}};
  keeper.add(host, at_second(1));
  const WindowStatistic* load = window_of(keeper, "utilization_gpu_percent");
  EXPECT_EQ(load->looks.most(), 80);
  EXPECT_EQ(load->looks.least(), 10);
  EXPECT_EQ(load->looks.mean(), 35);
}

TEST(Window, AnAbsentReadingHasNoStatisticAndCountsForNothing) {
  WindowKeeper keeper;
  Snapshot host = with_power(100);
  keeper.add(host, at_second(0));
  host.devices[0].power_draw = Absent::failed;
  keeper.add(host, at_second(1));
  EXPECT_EQ(power_window(keeper).looks.least(), 100'000);
  for (int second = 2; second < 61; ++second) keeper.add(host, at_second(second));
  EXPECT_EQ(window_of(keeper, "power_draw_milliwatts"), nullptr);
}

TEST(Window, FollowsADeviceThatMovesInTheList) {
  WindowKeeper keeper;
  keeper.add(with_power(700), at_second(0));
  Snapshot host = with_power(100);
  host.devices.insert(host.devices.begin(), Device{.id = DeviceId("B")});
  keeper.add(host, at_second(1));
  EXPECT_EQ(power_window(keeper).looks.most(), 700'000);
  EXPECT_EQ(keeper.statistics().devices.size(), 2U);
  EXPECT_EQ(keeper.statistics().of(DeviceId("C")), nullptr);
}

XidEvent xid_event(std::uint64_t number, std::uint64_t code, std::int64_t ms) {
  return {.pci_address = "a", .code = code, .at = {ms}, .number = number};
}
using XidEvents = std::vector<XidEvent>;

TEST(XidTally, CountsAnErrorOnceHoweverOftenItIsTold) {
  XidTally tally;
  for (int i = 0; i < 5; ++i)
    tally.add(XidEvents{xid_event(1, 31, 1000), xid_event(2, 31, 1000), xid_event(3, 79, 4000)});
  ASSERT_EQ(tally.counts().size(), 2U);
  EXPECT_EQ(tally.counts()[0], (XidCount{"a", 31, 2, {1000}}));
  EXPECT_EQ(tally.counts()[1], (XidCount{"a", 79, 1, {4000}}));
}

TEST(XidTally, ForgetsNothingThatIsToldNoMore) {
  XidTally tally;
  tally.add(XidEvents{xid_event(1, 31, 1000), xid_event(2, 43, 2000), xid_event(3, 79, 4000)});
  tally.add(XidEvents{xid_event(3, 79, 4000), xid_event(4, 31, 9000)});
  tally.add(Absent::failed);
  tally.add(XidEvents{});
  ASSERT_EQ(tally.counts().size(), 3U);
  EXPECT_EQ(tally.counts()[0], (XidCount{"a", 31, 2, {9000}}));
  EXPECT_EQ(tally.counts()[2].count, 1U);
}

TEST(XidTally, KnowsAnErrorAgainThoughItsDateIsAnother) {
  XidTally tally;
  tally.add(XidEvents{xid_event(1, 31, 1000), xid_event(2, 79, 4000)});
  tally.add(XidEvents{xid_event(1, 31, 1900), xid_event(2, 79, 4900), xid_event(3, 79, 5500)});
  ASSERT_EQ(tally.counts().size(), 2U);
  EXPECT_EQ(tally.counts()[0].count, 1U);
  EXPECT_EQ(tally.counts()[1].count, 2U);
  EXPECT_EQ(tally.counts()[1].last, (WallTime{5500}));
}

TEST(XidTally, CountsOnlyTheNewOneWhereItStandsBeforeWhatWasToldEarlier) {
  XidTally tally;
  tally.add(XidEvents{xid_event(1, 31, 1000), xid_event(2, 79, 4000), xid_event(3, 79, 6000)});
  tally.add(XidEvents{xid_event(1, 31, 1000), xid_event(4, 43, 3000), xid_event(2, 79, 4000),
                      xid_event(3, 79, 6000)});
  ASSERT_EQ(tally.counts().size(), 3U);
  EXPECT_EQ(tally.counts()[0].count, 1U);
  EXPECT_EQ(tally.counts()[1], (XidCount{"a", 43, 1, {3000}}));
  EXPECT_EQ(tally.counts()[2].count, 2U);
}

}  // namespace
}  // namespace berth::serve
