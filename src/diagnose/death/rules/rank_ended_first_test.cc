#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/rank_runs_test.h"
#include "diagnose/death/rules.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Findings said_of(const RunRecord& run, const std::vector<RunRecord>& others) {
  return rank_ended_first({.run = run, .siblings = siblings_of(run, others)});
}

TEST(RankEndedFirst, WhoEndedFirstIsNamed) {
  const Findings findings = said_of(rank_run(0, 660), {rank_run(1, 659), rank_run(2, 60)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "rank_ended_first");
  EXPECT_EQ(findings[0].title.english(), "another rank of the job ended first: rank 2");
  EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("exit code 1, 600 s before this one"));
  EXPECT_EQ(findings[0].steps[0].command, "berth explain 20251121-014942-aaaaaa");
  EXPECT_TRUE(findings[0].doubt.empty());
  const Findings killed = said_of(rank_run(0, 660), {rank_run(2, 60, {.signal = SIGKILL})});
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_THAT(killed[0].evidence[0].english(), HasSubstr("SIGKILL (9)"));
  EXPECT_FALSE(killed[0].doubt.empty()) << "rank 1 has no record";
  const Findings all =
      said_of(rank_run(0, 660), {rank_run(1, 659), rank_run(2, 60, {.signal = SIGTERM})});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].doubt.english(), "somebody ended it, and perhaps this one too");
}

TEST(RankEndedFirst, WhoEndedTogetherOrWellIsNot) {
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 59), rank_run(2, 61)}), IsEmpty())
      << "their launcher ended them";
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 20, {})}), IsEmpty());
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 20), rank_run(2, 21)}), IsEmpty())
      << "which of the two cannot be told";
  EXPECT_THAT(said_of(rank_run(0, 20), {rank_run(1, 60)}), IsEmpty()) << "it was the first itself";
  RunRecord other_machine = rank_run(1, 40);
  other_machine.manifest.machine_id = "m2";
  EXPECT_THAT(said_of(rank_run(0, 60), {other_machine}), IsEmpty()) << "their clocks may differ";
}

TEST(RankEndedFirst, ARunThatEndedWellOrWasStoppedDidNotDieOfIt) {
  EXPECT_THAT(said_of(rank_run(0, 60, {}), {rank_run(1, 20)}), IsEmpty());
  RunRecord stopped = rank_run(0, 60);
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(said_of(stopped, {rank_run(1, 20)}), IsEmpty());
  RunRecord sibling = rank_run(1, 20);
  sibling.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(said_of(rank_run(0, 60), {sibling}), IsEmpty()) << "the other one was stopped";
}

}  // namespace
}  // namespace berth
