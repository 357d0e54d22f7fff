#include "probe/sim/motion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "probe/sources.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr WallTime start{1'760'000'000'000};
constexpr WallTime later(std::int64_t ms) { return {start.unix_ms + ms}; }

sim::Scenario scenario_of(Snapshot base, std::vector<sim::Move> moves = {}) {
  base.taken = start;
  return {.name = "test", .seed = 3, .base = std::move(base), .moves = std::move(moves)};
}

sim::Move move_of(std::string_view field, sim::How how) {
  return {.devices = {0}, .field = find_field(field), .how = how};
}

Claim claim_on(const std::string& device, std::optional<Bytes> promised, WallTime since) {
  Claim claim;
  claim.id = "lease-1";
  claim.user = "alice";
  claim.keeper = ProcessId{.pid = 70};
  claim.job = ProcessId{.pid = 71, .start_ticks = 5};
  claim.command = "python train.py";
  claim.since = since;
  claim.devices.push_back({DeviceId(device), promised});
  return claim;
}

TEST(Motion, AProcessGoesOnUsingTheCpuAsItHas) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  const WallTime begin{1'795'000'000'000};
  const auto at = [&](std::int64_t ms) {
    return sim::scenario_at(*scenario, {begin.unix_ms + ms}).processes.at(0);
  };
  const HostProcess before = at(0);
  const HostProcess after = at(100'000);
  EXPECT_EQ(before.started, after.started);
  const double share = static_cast<double>(before.cpu_time.get()->count()) /
                       static_cast<double>(begin.unix_ms - before.started.get()->unix_ms);
  EXPECT_GT(share, 0.5) << "it trains";
  EXPECT_NEAR(static_cast<double>(after.cpu_time.get()->count() - before.cpu_time.get()->count()),
              share * 100'000, 10);
}

TEST(Motion, SameTimeGivesTheSameServer) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  EXPECT_EQ(sim::scenario_at(*scenario, later(1234)), sim::scenario_at(*scenario, later(1234)));
}

TEST(Motion, NumbersOfABusyCardMoveAndStayInRange) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  std::set<double> seen;
  for (int second = 0; second < 60; second += 5) {
    const Snapshot host = sim::scenario_at(*scenario, later(second * 1000));
    const Device& busy = host.devices[0];
    seen.insert(busy.utilization_gpu.get()->count());
    EXPECT_GE(*busy.utilization_gpu.get(), Percent(90));
    EXPECT_LE(*busy.utilization_gpu.get(), Percent(100));
    EXPECT_LT(*busy.power_draw.get(), *busy.power_limit.get());
    EXPECT_GT(*busy.power_draw.get(), 400_watts);
    EXPECT_LT(*busy.temperature.get(), *busy.temperature_slowdown.get());
  }
  EXPECT_GT(seen.size(), 3U);
}

TEST(Motion, CountersOnlyGrow) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  Millijoules before{0};
  for (int minute = 0; minute < 3000; minute += 100) {
    const Snapshot host = sim::scenario_at(*scenario, later(minute * 60'000));
    EXPECT_GT(*host.devices[3].energy.get(), before);
    before = *host.devices[3].energy.get();
  }
}

TEST(Motion, HistoryIsWhatWasShownBefore) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  const Snapshot earlier = sim::scenario_at(*scenario, start);
  const Snapshot now = sim::scenario_at(*scenario, later(4900));
  for (const UtilizationSample& sample : *now.devices[0].utilization_history.get()) {
    if (sample.age != Milliseconds(4100)) continue;
    EXPECT_NEAR(sample.busy.count(), earlier.devices[0].utilization_gpu.get()->count(), 1.5);
    return;
  }
  FAIL() << "no sample is 4.1 s old";
}

TEST(Motion, IdleCardKeepsAnEmptyHistory) {
  const auto scenario = sim::load_scenario("server-8xh100");
  ASSERT_TRUE(scenario);
  const Snapshot host = sim::scenario_at(*scenario, start);
  EXPECT_THAT(*host.devices[5].utilization_history.get(), testing::IsEmpty());
}

TEST(Motion, RateCountsFromTheFilesTime) {
  const Snapshot base = SnapshotBuilder()
                            .gpu("A", 24_GiB)
                            .with([](Device& device) { device.energy = Millijoules(1000); })
                            .build();
  const auto scenario =
      scenario_of(base, {move_of("energy_millijoules", sim::Rate{.per_second = 10})});
  EXPECT_EQ(*sim::scenario_at(scenario, later(2500)).devices[0].energy.get(), Millijoules(1025));
  EXPECT_EQ(*sim::scenario_at(scenario, later(-9000)).devices[0].energy.get(), Millijoules(1000));
}

TEST(Motion, AbsentReadingStaysAbsentUnderNoise) {
  const Snapshot base = SnapshotBuilder()
                            .gpu("A", 24_GiB)
                            .with([](Device& device) { device.power_draw = Absent::unsupported; })
                            .build();
  const auto scenario =
      scenario_of(base, {move_of("power_draw_milliwatts", sim::Noise{.amplitude = 5000})});
  EXPECT_EQ(sim::scenario_at(scenario, later(50)).devices[0].power_draw,
            Reading<Milliwatts>(Absent::unsupported));
}

TEST(Motion, StartTimesStandStillForADayAndNeverLieInTheFuture) {
  Snapshot base = SnapshotBuilder().gpu("A", 24_GiB).process(9, "bob", 1_GiB).build();
  base.processes[0].started = later(-5000);
  const auto scenario = scenario_of(base);
  const auto started = [&](std::int64_t ms) {
    return sim::scenario_at(scenario, later(ms)).processes[0].started.get()->unix_ms;
  };
  EXPECT_EQ(started(0), start.unix_ms - 5000);
  EXPECT_EQ(started(7'200'000), start.unix_ms - 5000);
  EXPECT_EQ(started(86'400'000), start.unix_ms - 5000 + 86'400'000);
  EXPECT_LT(started(-1), start.unix_ms - 1);
}

TEST(Motion, NoiseStaysWithinOne) {
  double least = 1;
  double most = -1;
  for (std::int64_t step = 0; step < 1000; ++step) {
    const double noise = sim::noise_at(1, 2, step);
    least = std::min(least, noise);
    most = std::max(most, noise);
  }
  EXPECT_GE(least, -1);
  EXPECT_LE(most, 1);
  EXPECT_LT(least, -0.9);
  EXPECT_GT(most, 0.9);
}

TEST(SimulatedJobs, JobOfAClaimComputesOnItsDevice) {
  Snapshot host = SnapshotBuilder().gpu("A", 100_GiB).gpu("B", 100_GiB).build();
  host.taken = later(60'000);
  for (Device& device : host.devices) {
    device.power_draw = 70_watts;
    device.power_limit = 700_watts;
    device.process_count = std::uint64_t{0};
  }
  sim::add_jobs(host, {claim_on("B", std::nullopt, start)}, 1);
  ASSERT_EQ(host.gpu_processes.size(), 1U);
  EXPECT_EQ(host.gpu_processes[0].pid, 71);
  EXPECT_EQ(host.gpu_processes[0].device, DeviceId("B"));
  EXPECT_EQ(*host.gpu_processes[0].memory.get(), 60_GiB);
  EXPECT_EQ(*host.devices[1].memory_used.get(), 60_GiB);
  EXPECT_EQ(*host.devices[1].memory_free.get(), 40_GiB);
  EXPECT_GT(*host.devices[1].utilization_gpu.get(), Percent(80));
  EXPECT_GT(*host.devices[1].power_draw.get(), 400_watts);
  EXPECT_FALSE(host.devices[1].utilization_history.get()->empty());
  EXPECT_EQ(*host.devices[0].utilization_gpu.get(), Percent(0));
  EXPECT_EQ(*host.devices[0].power_draw.get(), 70_watts);
  EXPECT_EQ(*host.devices[1].process_count.get(), 1U);
  ASSERT_EQ(host.processes.size(), 1U);
  EXPECT_EQ(*host.processes[0].user.get(), "alice");
  EXPECT_THAT(host.processes[0].ancestors, testing::ElementsAre(70));
}

TEST(SimulatedJobs, PromiseIsUsedToSixtyPercentAfterARamp) {
  const Claim claim = claim_on("A", 10_GiB, start);
  const auto used_after = [&](std::int64_t ms) {
    Snapshot host = SnapshotBuilder().gpu("A", 100_GiB).build();
    host.taken = later(ms);
    sim::add_jobs(host, {claim}, 1);
    return host.devices[0].memory_used.get()->count();
  };
  EXPECT_LT(used_after(100), used_after(500));
  EXPECT_EQ(used_after(2000), (6_GiB).count());
  EXPECT_EQ(used_after(200'000), (6_GiB).count());
}

TEST(SimulatedJobs, ClaimWithoutAJobOrOnAnotherMachinesDeviceShowsNothing) {
  Snapshot host = SnapshotBuilder().gpu("A", 100_GiB).build();
  const Snapshot before = host;
  Claim waiting = claim_on("A", 10_GiB, start);
  waiting.job = std::nullopt;
  sim::add_jobs(host, {waiting, claim_on("elsewhere", 10_GiB, start)}, 1);
  EXPECT_EQ(host, before);
}

TEST(SimulatedJobs, JobOnAMigInstanceUsesItsParentsMemoryToo) {
  const auto scenario = sim::load_scenario("h100-mig");
  ASSERT_TRUE(scenario);
  Snapshot host = sim::scenario_at(*scenario, start);
  const Bytes parent_before = *host.devices[0].memory_used.get();
  const std::string instance = host.devices[1].id.text();
  sim::add_jobs(host, {claim_on(instance, 10_GiB, later(-5000))}, 1);
  EXPECT_EQ(*host.devices[0].memory_used.get(), parent_before + 6_GiB);
  EXPECT_EQ(host.devices[1].utilization_gpu, Reading<Percent>(Absent::unsupported));
  ASSERT_TRUE(host.gpu_processes.back().partition);
}

}  // namespace
}  // namespace berth
