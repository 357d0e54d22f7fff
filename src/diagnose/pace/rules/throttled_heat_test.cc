#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(ThrottledHeat, IsSaidOfClocksThatHeatHoldsDown) {
  auto hot = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.heat = true};
    one.clock_sm = 900_MHz;
    one.temperature = Celsius(88);
  });
  const Finding found = first_finding(hot);
  EXPECT_EQ(found.rule, "throttled_heat");
  EXPECT_THAT(evidence_in(found), HasSubstr("its SMs ran at 45 % of their highest clock"));
  EXPECT_THAT(evidence_in(found), HasSubstr("it was at 88 °C"));
  EXPECT_THAT(steps_in(found), HasSubstr("nvidia-smi -q -d TEMPERATURE"));
  EXPECT_EQ(answer(hot.device([](DeviceStep& one) { one.clock_sm = 1850_MHz; })), "nothing");
}

}  // namespace
}  // namespace berth::pace
