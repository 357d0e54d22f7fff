#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(NothingRunning, IsSaidOfAGpuThatNobodyIsOn) {
  auto empty = ActivityBuilder().busy(0).each([](Step& step) { step.processes.clear(); });
  const Finding found = first_finding(empty);
  EXPECT_EQ(found.rule, "nothing_running");
  EXPECT_THAT(evidence_in(found), HasSubstr("the driver lists no process on it"));
  EXPECT_THAT(steps_in(found), HasSubstr("berth runs"));
  EXPECT_EQ(answer(empty.device([](DeviceStep& one) { one.others = std::uint64_t{1}; })),
            "nothing");
}

TEST(NothingRunning, WhoIsThereThatWasNotToldIsNotNobody) {
  auto still = ActivityBuilder().busy(0).each([](Step& step) { step.processes.clear(); });
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = std::uint64_t{0}; })),
            "nothing_running");
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = Absent::no_permission; })),
            "nothing");
}

TEST(NothingRunning, IsNotSaidOfARunTooShortToTell) {
  const auto of_a_record = [](int steps) {
    auto run = ActivityBuilder(steps).busy(0).each([](Step& step) {
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

}  // namespace
}  // namespace berth::pace
