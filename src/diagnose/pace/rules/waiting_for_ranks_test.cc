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
  EXPECT_THAT(rules_that_speak(waits.with([](Activity& one) { one.ranks = std::uint64_t{1}; })),
              Not(Contains("waiting_for_ranks")));
}

}  // namespace
}  // namespace berth::pace
