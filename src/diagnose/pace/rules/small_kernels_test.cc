#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(SmallKernels, AreSaidOfAGpuThatIsBusyWithFewOfItsSms) {
  auto small = ActivityBuilder().main(495).device([](DeviceStep& one) {
    one.utilization = Percent(85);
    one.sm = Percent(8);
    one.tensor = Percent(2);
    one.dram = Percent(6);
    one.power = 160_watts;
  });
  const Finding found = first_finding(small);
  EXPECT_EQ(found.rule, "small_kernels");
  EXPECT_THAT(evidence_in(found), HasSubstr("while kernels ran 9 % of the SMs were busy"));
  EXPECT_THAT(evidence_in(found), HasSubstr("it drew 23 % of its power limit"));
  EXPECT_THAT(steps_in(found), HasSubstr("raise the batch size"));
  const auto fuller = [](DeviceStep& one) { one.sm = Percent(50); };
  EXPECT_EQ(answer(small.device(fuller)), "nothing");
}

TEST(SmallKernels, ByPowerAloneSayThatTheyMayBeWrong) {
  const auto old_card = ActivityBuilder().device([](DeviceStep& one) {
    one.sm = one.tensor = one.dram = Absent::unsupported;
    one.power = 150_watts;
  });
  const Finding found = first_finding(old_card);
  EXPECT_EQ(found.rule, "small_kernels");
  EXPECT_FALSE(found.doubt.empty());
}

}  // namespace
}  // namespace berth::pace
