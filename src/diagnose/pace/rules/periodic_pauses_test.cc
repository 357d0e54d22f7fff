#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

ActivityBuilder pausing(double busy_between) {
  int number = 0;
  return ActivityBuilder(60).device(
      [&](DeviceStep& one) { one.utilization = Percent(number++ % 12 >= 8 ? 0 : busy_between); });
}

TEST(PeriodicPauses, AreSaidOfAGpuThatStandsStillAtEvenDistances) {
  const Finding found = first_finding(pausing(96));
  EXPECT_EQ(found.rule, "periodic_pauses");
  EXPECT_EQ(found.title.english(), "the GPU stands still again and again: every 6.0 s for 2.0 s");
  EXPECT_THAT(evidence_in(found), HasSubstr("between them a kernel ran 96 % of the time"));
  EXPECT_THAT(steps_in(found), HasSubstr("evaluate and save less often"));
  EXPECT_TRUE(found.doubt.empty());
}

TEST(PeriodicPauses, OfAGpuThatAlsoStandsStillBetweenThemAreNotTheAnswer) {
  EXPECT_NE(answer(pausing(50)), "periodic_pauses");
}

}  // namespace
}  // namespace berth::pace
