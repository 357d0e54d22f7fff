#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OomKiller, TheControlGroupsCounterAndTheKernelLogAreSure) {
  const RunRecord run = ended_run({.signal = SIGKILL});
  const Findings counted = explain_death(
      {.run = run,
       .events = {event_at_the_end("oom_kill", "the kernel killed 1 process of its group")}});
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted[0].rule, "oom_killer");
  EXPECT_THAT(evidence_in(counted[0]), HasSubstr("the kernel killed 1 process of its group"));
  EXPECT_THAT(steps_in(counted[0]), HasSubstr("fewer data loader workers"));
  EXPECT_TRUE(counted[0].doubt.empty());
  EXPECT_TRUE(cause_to_tell(counted));
  const OomKill mine{.at = run_over, .pid = 4711, .process = "python", .resident = 60_GiB};
  const Findings logged = explain_death({.run = run, .oom_kills = std::vector{mine}});
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_EQ(logged[0].rule, "oom_killer");
  EXPECT_THAT(logged[0].evidence[0].english(), HasSubstr("process 4711 (python)"));
}

TEST(OomKiller, SomebodyElsesProcessIsNotTheRuns) {
  const RunRecord run = ended_run({.signal = SIGKILL});
  const OomKill other{.at = run_over, .pid = 99, .process = "firefox"};
  EXPECT_THAT(causes_of({.run = run, .oom_kills = std::vector{other}}), ElementsAre("killed"));
  EXPECT_THAT(causes_of({.run = run, .processes = {99}, .oom_kills = std::vector{other}}),
              ElementsAre("oom_killer"));
}

TEST(OomKiller, WhereOnlyTheSizeSpeaksForItItDoubts) {
  RunRecord run = ended_run({.code = 137});
  run.end->summary.tree_memory_peak = 60_GiB;
  const Findings findings = explain_death({.run = run});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "oom_killer");
  EXPECT_FALSE(findings[0].doubt.empty());
  EXPECT_EQ(cause_to_tell(findings), std::nullopt) << "a guess is not told without being asked";
}

TEST(OomKiller, AnExitOfItsOwnOrASmallRunIsNone) {
  RunRecord large = ended_run({.code = 1});
  large.end->summary.tree_memory_peak = 60_GiB;
  EXPECT_THAT(causes_of({.run = large}), IsEmpty());
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGKILL})}), ElementsAre("killed"));
}

}  // namespace
}  // namespace berth
