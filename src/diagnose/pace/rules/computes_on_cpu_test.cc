#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(ComputesOnCpu, IsSaidOfThreadsThatWorkBesideAGpuThatDoesNot) {
  auto computes = ActivityBuilder().busy(0).main(480, {480, 480, 470}).workers(0, 0);
  const Finding found = first_finding(computes);
  EXPECT_EQ(found.rule, "computes_on_cpu");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("process 100 (python) uses 3.8 CPUs itself, in 4 threads that work"));
  EXPECT_THAT(steps_in(found), HasSubstr("model.to(\"cuda\")"));
  // The same threads beside a GPU that works are its own affair.
  EXPECT_EQ(answer(computes.busy(95)), "nothing");
}

}  // namespace
}  // namespace berth::pace
