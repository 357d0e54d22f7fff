#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(steps_in(found), HasSubstr("find the rank that is late"));
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

}  // namespace
}  // namespace berth::pace
