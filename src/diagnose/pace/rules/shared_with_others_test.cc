#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace berth::pace
