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

}  // namespace
}  // namespace berth::pace
