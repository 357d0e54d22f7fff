#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(TooFewCpus, IsSaidOfThreadsThatTakeTurns) {
  auto crowded = ActivityBuilder().busy(30).main(120).workers(6, 60, 430).cpus(64, 1);
  const Finding found = first_finding(crowded);
  EXPECT_EQ(found.rule, "too_few_cpus");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("its threads waited for a CPU 84 % of the time in which they had work"));
  EXPECT_THAT(evidence_in(found), HasSubstr("they want 6.1 CPUs, and may use 1.0"));
  EXPECT_THAT(evidence_in(found), HasSubstr("the machine has 64.0 CPUs"));
  EXPECT_THAT(steps_in(found), HasSubstr("taskset -cp 100"));
  crowded.each([](Step& step) { step.processes[0].involuntary_switches = std::uint64_t{45}; });
  EXPECT_THAT(evidence_in(first_finding(crowded)),
              HasSubstr("with work left they were taken off a CPU 90 times a second"));
}

TEST(TooFewCpus, IsNotSaidWhereNobodyWaitsForOne) {
  auto enough = ActivityBuilder().busy(30).main(120).workers(6, 60).cpus(64, 1);
  EXPECT_THAT(rules_that_speak(enough), Not(Contains("too_few_cpus")));
}

}  // namespace
}  // namespace berth::pace
