#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(SharedWithOthers, IsSaidWhereTheirKernelsRun) {
  auto shared = ActivityBuilder().device([](DeviceStep& one) {
    one.others = std::uint64_t{2};
    one.others_utilization = Percent(45);
  });
  const Finding found = first_finding(shared);
  EXPECT_EQ(found.rule, "shared_with_others");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("2 processes that are not of this job are on it and had kernels there "
                        "45 % of the time"));
  EXPECT_THAT(steps_in(found), HasSubstr("berth ps"));
  EXPECT_EQ(answer(shared.device([](DeviceStep& one) { one.others_utilization = Percent(5); })),
            "nothing");
}

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
  for (const Finding& finding : explain_bottleneck(both.build()).findings) {
    if (finding.rule == "throttled_power") power = evidence_in(finding);
    if (finding.rule == "throttled_heat") heat = evidence_in(finding);
  }
  EXPECT_THAT(power, HasSubstr("its SMs ran at 30 % of their highest clock meanwhile"));
  EXPECT_THAT(heat, HasSubstr("its SMs ran at 75 % of their highest clock meanwhile"));
}

TEST(WaitingForRanks, IsSaidOfAGpuThatSpinsInACollective) {
  int number = 0;
  auto waits = ActivityBuilder().with([](Activity& one) { one.ranks = std::uint64_t{8}; });
  waits.device([&](DeviceStep& one) {
    one.utilization = Percent(100);
    if (number++ % 2 == 0) return;
    one.sm = Percent(4);
    one.tensor = one.dram = Percent(1);
    one.power = 150_watts;
  });
  const Finding found = first_finding(waits);
  EXPECT_EQ(found.rule, "waiting_for_ranks");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("50 % of the time it was utilised throughout and did next to nothing"));
  EXPECT_THAT(evidence_in(found), HasSubstr("8 ranks compute together"));
  EXPECT_THAT(steps_in(found), HasSubstr("find the late rank"));
  waits.device([](DeviceStep& one) { one.nvlink = 512_MiB; });
  EXPECT_THAT(evidence_in(first_finding(waits)), HasSubstr("1.0 GiB/s went over its NVLinks"));
  EXPECT_THAT(rules_that_speak(waits.with([](Activity& one) { one.ranks = std::uint64_t{1}; })),
              Not(Contains("waiting_for_ranks")));
}

TEST(WaitingForRanks, WithinEachStepIsSaidWithADoubt) {
  auto waits = ActivityBuilder().with([](Activity& one) { one.ranks = std::uint64_t{8}; });
  waits.device([](DeviceStep& one) {
    one.utilization = Percent(99);
    one.sm = Percent(45);
    one.dram = Percent(18);
    one.tensor = Percent(20);
    one.power = 380_watts;
  });
  const Finding found = first_finding(waits);
  EXPECT_EQ(found.rule, "waiting_for_ranks");
  EXPECT_THAT(evidence_in(found), HasSubstr("of the SMs were busy"));
  EXPECT_FALSE(found.doubt.empty());
  EXPECT_EQ(answer(waits.device([](DeviceStep& one) { one.sm = Percent(70); })), "nothing");
}

TEST(WaitingForRanks, IsKnownByAnUntouchedMemoryWhereSmsAreNotTold) {
  int number = 0;
  auto waits = ActivityBuilder().with([](Activity& one) { one.ranks = std::uint64_t{8}; });
  waits.device([&](DeviceStep& one) {
    one.utilization = Percent(100);
    one.sm = one.tensor = one.dram = Absent::unsupported;
    const bool spins = number++ % 2 == 0;
    one.utilization_memory = Percent(spins ? 1 : 37);
    one.power = spins ? 300_watts : 500_watts;  // a mean of a second: it falls slowly
  });
  const Finding found = first_finding(waits);
  EXPECT_EQ(found.rule, "waiting_for_ranks");
  EXPECT_FALSE(found.doubt.empty());
  EXPECT_EQ(answer(waits.device([](DeviceStep& one) { one.utilization_memory = Percent(37); })),
            "nothing");
}

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
}  // namespace berth::bottleneck
