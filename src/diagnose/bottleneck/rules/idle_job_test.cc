#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(NothingRunning, IsSaidOfAGpuThatNobodyIsOn) {
  auto empty = ActivityBuilder().busy(0).each([](ActivitySample& step) { step.processes.clear(); });
  const Finding found = first_finding(empty);
  EXPECT_EQ(found.rule, "nothing_running");
  EXPECT_THAT(evidence_in(found), HasSubstr("the driver lists no process on it"));
  EXPECT_THAT(steps_in(found), HasSubstr("berth runs"));
  EXPECT_EQ(answer(empty.device([](DeviceStep& one) { one.others = std::uint64_t{1}; })),
            "nothing");
}

TEST(NothingRunning, WhoIsThereThatWasNotToldIsNotNobody) {
  auto still = ActivityBuilder().busy(0).each([](ActivitySample& step) { step.processes.clear(); });
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = std::uint64_t{0}; })),
            "nothing_running");
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = Absent::no_permission; })),
            "nothing");
}

TEST(NothingRunning, IsNotSaidOfARunTooShortToTell) {
  const auto of_a_record = [](int steps) {
    auto run = ActivityBuilder(steps).busy(0).each([](ActivitySample& step) {
      step.processes.resize(1);
      step.processes[0].devices.clear();
      step.processes[0].gpu_memory = Bytes(0);
    });
    return rules_that_speak(run.with([](Activity& one) { one.taken_by = TakenBy::run_samples; }));
  };
  EXPECT_THAT(of_a_record(20), testing::Contains("nothing_running"));
  EXPECT_THAT(of_a_record(4), testing::Not(testing::Contains("nothing_running")))
      << "it may have come and gone between two looks";
}

TEST(MemoryHeldIdle, IsAProgramThatRestsWithTheMemoryInItsHands) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  const Finding found = first_finding(idle);
  EXPECT_EQ(found.rule, "memory_held_idle");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("30.0 GiB of the GPU's memory is held by process 100 (python)"));
  EXPECT_THAT(steps_in(found), HasSubstr("py-spy dump --pid 100"));
}

TEST(MemoryHeldIdle, WhatThinksOnTheCpuOrWaitsForTheDiskIsNoIdleNotebook) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  EXPECT_THAT(rules_that_speak(idle.main(300)), Not(Contains("memory_held_idle")));
  auto reads = ActivityBuilder().busy(0).main(1).workers(2, 0, 0, 'D');
  EXPECT_THAT(rules_that_speak(reads), Not(Contains("memory_held_idle")));
}

TEST(Swapping, IsSaidOfMemoryThatIsReadBack) {
  auto swaps =
      ActivityBuilder().busy(30).main(100).workers(2, 50, 0, 'D').each([](ActivitySample& step) {
        for (ProcessStep& one : step.processes) {
          one.swapped = 4_GiB;
          one.major_faults = std::uint64_t{400};
        }
        step.host.swap_in = 20_MiB;
      });
  const Finding found = first_finding(swaps);
  EXPECT_EQ(found.rule, "swapping");
  EXPECT_THAT(evidence_in(found), HasSubstr("12.0 GiB of the job's memory is swapped out"));
  EXPECT_THAT(evidence_in(found), HasSubstr("the machine reads 40 MiB/s back"));
  EXPECT_THAT(steps_in(found), HasSubstr("ps aux --sort=-rss"));
  const auto rests = [](ActivitySample& step) {
    step.host.swap_in = Bytes{0};
    for (ProcessStep& one : step.processes) one.major_faults = std::uint64_t{0};
  };
  EXPECT_THAT(rules_that_speak(swaps.each(rests)), Not(Contains("swapping")))
      << "what was put away long ago costs nothing";
}

}  // namespace
}  // namespace berth::bottleneck
