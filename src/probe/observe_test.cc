#include "probe/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

Sources nowhere() {
  return {.nvml_library = "/nowhere/libnvidia-ml.so.1",
          .proc = "/nowhere/proc",
          .sys = "/nowhere/sys",
          .passwd = "/nowhere/passwd"};
}

Claim claim_of_this_process(const DeviceId& device) {
  Claim claim;
  claim.id = "lease-1";
  claim.user = "alice";
  claim.job = own_process_id();
  claim.command = "python train.py";
  claim.since = {FakeClock().wall_now().unix_ms - 60'000};
  claim.devices.push_back({device, std::nullopt});
  return claim;
}

TEST(Observe, MachineWithNothingIsAnEmptySnapshotWithAProblemPerSource) {
  SystemClock clock;
  const auto got = observe(nowhere(), {}, clock);
  ASSERT_TRUE(got);
  EXPECT_THAT(got->devices, testing::IsEmpty());
  EXPECT_THAT(got->sources, testing::Contains(SourceReport{"nvml", false}));
  EXPECT_THAT(got->sources, testing::Contains(SourceReport{"pci", false}));
  EXPECT_THAT(got->problems, testing::Contains(testing::Field(&Problem::source, "nvml")));
  EXPECT_THAT(got->problems, testing::Contains(testing::Field(&Problem::source, "pci")));
}

TEST(Observe, UnreadableScenarioAndReplayAreErrors) {
  FakeClock clock;
  EXPECT_EQ(observe({.simulated = "no-such"}, {}, clock).error().code(), ErrorCode::invalid);
  EXPECT_EQ(observe({.replay = "/nowhere/f"}, {}, clock).error().code(), ErrorCode::invalid);
}

TEST(Observe, LeasedJobRunsOnTheSimulatedServerWhileItsProcessLives) {
  FakeClock clock;
  const Sources sources{.simulated = "server-8xh100"};
  const Snapshot idle = *observe(sources, {}, clock);
  EXPECT_EQ(idle.simulated, "server-8xh100");
  Claim claim = claim_of_this_process(idle.devices[5].id);
  const Snapshot busy = *observe(sources, {.claims = {claim}}, clock);
  EXPECT_GT(*busy.devices[5].utilization_gpu.get(), Percent(70));
  EXPECT_EQ(processes_on(busy.devices[5].id, busy).size(), 1U);
  const HostProcess* job = find_process(claim.job->pid, busy);
  ASSERT_NE(job, nullptr);
  EXPECT_FALSE(job->ancestors.empty());
  claim.job->start_ticks += 1;  // another process has the pid now
  const Snapshot after = *observe(sources, {.claims = {claim}}, clock);
  EXPECT_EQ(after, idle);
}

TEST(Observer, LooksAgainAndAgain) {
  FakeClock clock;
  auto observer = Observer::start({.simulated = "server-8xh100"});
  ASSERT_TRUE(observer) << observer.error().message();
  const Snapshot first = observer->look(Depth::everything, {}, clock.wall_now());
  clock.advance(std::chrono::seconds(9));
  const Snapshot second = observer->look(Depth::everything, {}, clock.wall_now());
  EXPECT_EQ(second.taken, clock.wall_now());
  EXPECT_GT(*second.devices[0].energy.get(), *first.devices[0].energy.get());
}

TEST(Observer, MachineWithNothingHasItsProblems) {
  auto observer = Observer::start(nowhere());
  ASSERT_TRUE(observer);
  const Snapshot got = observer->look(Depth::state, {}, {1});
  EXPECT_THAT(got.problems, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(got.devices, testing::IsEmpty());
}

}  // namespace
}  // namespace berth
