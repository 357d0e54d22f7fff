#include "probe/sim/life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"

namespace berth::sim {
namespace {

constexpr WallTime start{1'795'000'000'000};

Life a_life(std::uint64_t seed = 30) { return life_of(seed, 8, {"alice", "bob", "carol"}); }

TEST(Life, FollowsFromTheSeedAlone) {
  const auto begins = [](const Life& life) {
    std::vector<std::int64_t> times;
    for (const LifeJob& job : life.jobs) times.push_back(job.from_ms);
    return times;
  };
  EXPECT_EQ(begins(a_life(30)), begins(a_life(30)));
  EXPECT_NE(begins(a_life(30)), begins(a_life(31)));
}

TEST(Life, GivesADeviceToOneJobAtATime) {
  const Life life = a_life();
  std::map<std::size_t, std::int64_t> free_from;
  for (const LifeJob& job : life.jobs) {
    EXPECT_LT(job.from_ms, job.to_ms);
    EXPECT_LE(job.to_ms, life_period_ms);
    for (const std::size_t device : job.devices) {
      EXPECT_GE(job.from_ms, free_from[device]) << "job " << job.number << " on " << device;
      free_from[device] = job.to_ms;
    }
  }
  EXPECT_EQ(free_from.size(), 8U);
}

TEST(Life, HasEveryKindOfJobAndSomeThatWaited) {
  const Life life = a_life();
  std::set<LifeKind> kinds;
  std::size_t waited = 0;
  for (const LifeJob& job : life.jobs) {
    kinds.insert(job.kind);
    waited += job.waited_ms > 0 ? 1 : 0;
  }
  EXPECT_EQ(kinds.size(), 6U);
  EXPECT_GT(waited, 10U);
  EXPECT_LT(waited, life.jobs.size());
}

TEST(Life, PastJobsAreThoseThatEndedBetweenTheTimes) {
  const Life life = a_life();
  const WallTime end{start.unix_ms + life_period_ms};
  const std::vector<PastJob> all = past_jobs(life, start, end);
  EXPECT_EQ(all.size(), life.jobs.size()) << "a whole turn has each job once";
  for (const PastJob& job : all) {
    EXPECT_GT(job.ended, start);
    EXPECT_LE(job.ended, end);
    EXPECT_LT(job.began, job.ended);
  }
  const WallTime middle = all[all.size() / 2].ended;
  EXPECT_EQ(past_jobs(life, start, middle).size() + past_jobs(life, middle, end).size(), all.size())
      << "one that ended at that very time is told of once";
}

TEST(Life, CountersNeverGoBack) {
  const auto scenario = load_scenario("month-8xh100");
  ASSERT_TRUE(scenario);
  std::optional<Snapshot> before;
  for (int step = 0; step < 300; ++step) {
    Snapshot now = scenario_at(*scenario, {start.unix_ms + step * 600'000LL});
    for (std::size_t i = 0; before && i < now.devices.size(); ++i) {
      const Device& device = now.devices[i];
      EXPECT_GT(*device.energy.get(), *before->devices[i].energy.get()) << i << " at " << step;
      EXPECT_GE(*device.pcie_sent.get(), *before->devices[i].pcie_sent.get());
    }
    before = std::move(now);
  }
}

TEST(Life, ShowsWhatEachKindIsFoundBy) {
  const auto scenario = load_scenario("month-8xh100");
  ASSERT_TRUE(scenario);
  bool is_hot = false;
  bool is_idle = false;
  bool has_xid = false;
  bool waits = false;
  bool links = false;
  for (int step = 0; step < 28 * 24; ++step) {
    const Snapshot now = scenario_at(*scenario, {start.unix_ms + step * 3'600'000LL});
    EXPECT_EQ(now.simulated, "month-8xh100");
    has_xid = has_xid || !now.xids.get()->empty();
    waits = waits || !now.waiters.empty();
    for (const Claim& claim : now.claims) {
      for (const Device& device : now.devices) {
        if (device.id != claim.devices.front().device) continue;
        is_hot = is_hot || device.throttle_reasons.get()->count() == 0x20;
        is_idle = is_idle || (claim.command == "jupyter notebook" &&
                              device.utilization_gpu.get()->count() == 0);
        links = links || device.details.get<BytesPerSecond>(Detail::nvlink_sent_rate)
                                 .get()
                                 .value_or(BytesPerSecond{0})
                                 .count() > 0;
      }
    }
  }
  EXPECT_TRUE(is_hot);
  EXPECT_TRUE(is_idle);
  EXPECT_TRUE(has_xid);
  EXPECT_TRUE(waits);
  EXPECT_TRUE(links);
}

}  // namespace
}  // namespace berth::sim
