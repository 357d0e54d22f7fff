// Ranks of one job in several records.

#include "diagnose/postmortem/sibling_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/postmortem/rank_runs_test.h"

namespace berth {
namespace {

using ::testing::IsEmpty;

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
  EXPECT_THAT(siblings_of(run, {run, rank_run(1, 60), rank_run(2, 60)}), testing::SizeIs(2));
  RunRecord twice = rank_run(1, 60);
  twice.manifest.id += "b";
  EXPECT_THAT(siblings_of(run, {run, rank_run(1, 60), twice}), IsEmpty());
}

TEST(SiblingRanks, OnTwoMachinesLocalhostIsNotTheSamePlace) {
  RunRecord run = rank_run(0, 60);
  RunRecord other = rank_run(1, 60);
  run.manifest.variables[0].second = other.manifest.variables[0].second = "localhost";
  EXPECT_THAT(siblings_of(run, {other}), testing::SizeIs(1));
  other.manifest.machine_id = "m2";
  EXPECT_THAT(siblings_of(run, {other}), IsEmpty());
}

}  // namespace
}  // namespace berth
