#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(ThrottledPower, IsSaidOfClocksThatThePowerLimitHoldsFarDown) {
  auto capped = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.power = true};
    one.clock_sm = 1000_MHz;
  });
  const Finding found = first_finding(capped);
  EXPECT_EQ(found.rule, "throttled_power");
  EXPECT_THAT(evidence_in(found), HasSubstr("its SMs ran at 50 % of their highest clock"));
  EXPECT_THAT(steps_in(found), HasSubstr("nvidia-smi -q -d POWER"));
  EXPECT_EQ(answer(capped.device([](DeviceStep& one) { one.clock_sm = 1750_MHz; })), "nothing")
      << "a card that works hard is at its limit, and nearly as fast";
}

TEST(ThrottledPower, ACardAtThePowerThatItWasMadeForIsWell) {
  auto full = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.power = true};
    one.clock_sm = 1500_MHz;
    one.power = Milliwatts(700'000);
  });
  EXPECT_EQ(answer(full), "nothing") << "matrix products at 700 of 700 W";
  Activity lowered = full.build();
  lowered.devices[0].power_limit = 500_watts;
  const Finding found = first_finding(lowered);
  EXPECT_EQ(found.rule, "throttled_power");
  EXPECT_THAT(evidence_in(found), HasSubstr("the limit is set to 500 W, by default it is 700 W"));
}

TEST(ThrottledPower, HasTheClockOfItsOwnTimeWhereHeatHeldItAtOthers) {
  int number = 0;
  auto both = ActivityBuilder(30).device([&](DeviceStep& one) {
    const bool is_hot = number++ % 3 != 0;  // twice as long as the other
    one.throttle = Throttle{.power = !is_hot, .heat = is_hot};
    one.clock_sm = is_hot ? 1500_MHz : 600_MHz;
  });
  std::string power;
  std::string heat;
  for (const Finding& finding : explain_pace(both.build()).findings) {
    if (finding.rule == "throttled_power") power = evidence_in(finding);
    if (finding.rule == "throttled_heat") heat = evidence_in(finding);
  }
  EXPECT_THAT(power, HasSubstr("its SMs ran at 30 % of their highest clock meanwhile"));
  EXPECT_THAT(heat, HasSubstr("its SMs ran at 75 % of their highest clock meanwhile"));
}

}  // namespace
}  // namespace berth::pace
