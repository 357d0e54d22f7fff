// Ranks of one job in several records, and which of them ended first.

#include "diagnose/death/sibling_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/death.h"
#include "diagnose/death/rules.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunRecord rank_run(int rank, std::int64_t ended_second, Exit exit = {.code = 1}) {
  RunRecord run;
  run.manifest.id = "20251121-01494" + std::to_string(rank) + "-aaaaaa";
  run.manifest.machine_id = "m1";
  run.manifest.started = {1'763'690'000'000};
  run.manifest.variables = {{"MASTER_ADDR", "10.0.0.1"},
                            {"MASTER_PORT", "29500"},
                            {"RANK", std::to_string(rank)},
                            {"WORLD_SIZE", "3"}};
  run.state = RunState::ended;
  run.end = RunEnd{.at = {1'763'690'000'000 + ended_second * 1000}, .exit = exit};
  return run;
}

Findings said_of(const RunRecord& run, const std::vector<RunRecord>& others) {
  return death_by_sibling_rank({.run = run, .siblings = siblings_of(run, others)});
}

TEST(RankPlace, IsWhatTheLauncherTold) {
  EXPECT_EQ(rank_place_of(rank_run(2, 1).manifest), (RankPlace{"10.0.0.1:29500", 2, 3}));
  Manifest slurm;
  slurm.variables = {
      {"SLURM_JOB_ID", "42"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(rank_place_of(slurm), (RankPlace{"slurm 42.0", 5, 8}));
}

TEST(RankPlace, WhoIsAloneOrToldNonsenseHasNone) {
  Manifest manifest = rank_run(0, 1).manifest;
  manifest.variables[3].second = "1";
  EXPECT_EQ(rank_place_of(manifest), std::nullopt);
  manifest.variables[3].second = "***";
  EXPECT_EQ(rank_place_of(manifest), std::nullopt);
  EXPECT_EQ(rank_place_of(rank_run(3, 1).manifest), std::nullopt) << "rank 3 of 3";
  EXPECT_EQ(rank_place_of(Manifest{}), std::nullopt);
}

TEST(SiblingRanks, AreOfTheSameJobUserAndTime) {
  const RunRecord run = rank_run(0, 60);
  RunRecord other_port = rank_run(1, 60);
  other_port.manifest.variables[1].second = "29501";
  RunRecord other_user = rank_run(1, 60);
  other_user.manifest.uid = 7;
  RunRecord earlier = rank_run(1, 60);
  earlier.manifest.started.unix_ms -= 100'000;
  earlier.end->at = run.manifest.started;
  EXPECT_THAT(siblings_of(run, {run, other_port, other_user, earlier}), IsEmpty());
  EXPECT_THAT(siblings_of(run, {run, rank_run(1, 60), rank_run(2, 60)}), SizeIs(2));
  RunRecord twice = rank_run(1, 60);
  twice.manifest.id += "b";
  EXPECT_THAT(siblings_of(run, {run, rank_run(1, 60), twice}), IsEmpty());
}

TEST(SiblingRanks, OnTwoMachinesLocalhostIsNotTheSamePlace) {
  RunRecord run = rank_run(0, 60);
  RunRecord other = rank_run(1, 60);
  run.manifest.variables[0].second = other.manifest.variables[0].second = "localhost";
  EXPECT_THAT(siblings_of(run, {other}), SizeIs(1));
  other.manifest.machine_id = "m2";
  EXPECT_THAT(siblings_of(run, {other}), IsEmpty());
}

TEST(DeathBySiblingRank, WhoEndedFirstIsNamed) {
  const Findings findings = said_of(rank_run(0, 660), {rank_run(1, 659), rank_run(2, 60)});
  ASSERT_EQ(findings.size(), 1U);
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

TEST(DeathBySiblingRank, WhoEndedTogetherOrWellIsNot) {
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

TEST(DeathBySiblingRank, ARunThatEndedWellOrWasStoppedDidNotDieOfIt) {
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
