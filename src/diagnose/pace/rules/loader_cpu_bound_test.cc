#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(LoaderCpuBound, IsSaidOfWorkersThatNeverRestAndHaveAllTheCpus) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(4, 490).cpus(4, 4);
  const Finding found = first_finding(starved);
  EXPECT_EQ(found.rule, "loader_cpu_bound");
  EXPECT_THAT(evidence_in(found), HasSubstr("4 of 4 worker processes that load are busy all the "
                                            "time (each 98 % of a CPU)"));
  EXPECT_THAT(evidence_in(found),
              HasSubstr("the job may use 4.0 CPUs, and 100 % of them are in use"));
  EXPECT_THAT(steps_in(found), HasSubstr("do once beforehand what is done to every sample"));
  EXPECT_EQ(answer(starved.busy(96).main(480)), "nothing") << "busy workers that are fast enough";
}

TEST(LoaderCpuBound, WhereCpusAreLeftOverItIsNotTheirWantThatHurts) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(4, 490).cpus(32, 32);
  EXPECT_THAT(rules_that_speak(starved), Not(Contains("loader_cpu_bound")));
}

}  // namespace
}  // namespace berth::pace
