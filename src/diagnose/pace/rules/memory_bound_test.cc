#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(MemoryBound, IsSaidOfFullMemoryBesideTensorCoresThatRest) {
  auto bound = ActivityBuilder().device([](DeviceStep& one) {
    one.dram = Percent(85);
    one.tensor = Percent(5);
  });
  const Finding found = first_finding(bound);
  EXPECT_EQ(found.rule, "memory_bound");
  EXPECT_EQ(found.severity, Severity::hint);
  EXPECT_THAT(evidence_in(found),
              HasSubstr("while kernels ran 89 % of the memory's bandwidth was in use"));
  EXPECT_THAT(steps_in(found), HasSubstr("torch.autocast"));
  EXPECT_TRUE(found.doubt.empty());
  EXPECT_EQ(answer(bound.device([](DeviceStep& one) { one.tensor = Percent(50); })), "nothing");
}

TEST(MemoryBound, WithoutCountersTheMemorysUtilisationTellsWithADoubt) {
  auto old_card = ActivityBuilder().device([](DeviceStep& one) {
    one.sm = one.tensor = one.dram = Absent::unsupported;
    one.utilization_memory = Percent(90);
  });
  const Finding found = first_finding(old_card);
  EXPECT_EQ(found.rule, "memory_bound");
  EXPECT_FALSE(found.doubt.empty());
  const auto rests = [](DeviceStep& one) { one.utilization_memory = Percent(40); };
  EXPECT_EQ(answer(old_card.device(rests)), "nothing");
}

}  // namespace
}  // namespace berth::pace
