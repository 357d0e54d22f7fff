#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(LoaderTooFewWorkers, IsSaidOfWorkersThatNeverRestBesideCpusThatDo) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(2, 490).cpus(32, 32);
  const Finding found = first_finding(starved);
  EXPECT_EQ(found.rule, "loader_too_few_workers");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("the job may use 32.0 CPUs, and 92 % of them are left over"));
  EXPECT_THAT(steps_in(found), HasSubstr("num_workers=31"));
  EXPECT_EQ(answer(starved.workers(2, 200)), "nothing") << "workers that rest are enough";
}

TEST(LoaderTooFewWorkers, ThreadsOfTheMainProcessThatLoadAreWorkersToo) {
  auto starved = ActivityBuilder().busy(40).main(200, {490, 490}).workers(0, 0);
  EXPECT_EQ(answer(starved.with([](Activity& one) { one.framework = Framework::tensorflow; })),
            "loader_too_few_workers");
}

TEST(LoaderTooFewWorkers, PausesInWhichWorkersNeverRestAreTheirs) {
  int number = 0;
  auto paused = ActivityBuilder(60).workers(2, 495).device(
      [&](DeviceStep& one) { one.utilization = Percent(number++ % 12 >= 8 ? 0 : 96); });
  EXPECT_EQ(answer(paused), "loader_too_few_workers");
}

}  // namespace
}  // namespace berth::pace
