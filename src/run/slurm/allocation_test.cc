#include "run/slurm/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<SlurmAllocation> seen_in(const std::map<std::string, std::string>& variables) {
  return slurm_allocation([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(SlurmAllocation, AStepsCardsGoBeforeItsJobs) {
  const auto got = seen_in({{"SLURM_JOB_ID", "12"},
                            {"SLURMD_NODENAME", "n1"},
                            {"SLURM_JOB_GPUS", "0,1"},
                            {"SLURM_STEP_GPUS", "1"}});
  EXPECT_EQ(got, (SlurmAllocation{.job = "12", .cards = "1"}));
}

TEST(SlurmAllocation, AStepWithoutCardsHasNoneOfItsJobs) {
  const auto got = seen_in({{"SLURM_JOB_ID", "12"},
                            {"SLURMD_NODENAME", "n1"},
                            {"SLURM_JOB_GPUS", "0,1"},
                            {"SLURM_STEP_GPUS", ""}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->cards, std::nullopt);
}

TEST(SlurmAllocation, IsThereOnANodeAlone) {
  EXPECT_EQ(seen_in({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_GPUS", "0"}}), std::nullopt);
  EXPECT_EQ(seen_in({}), std::nullopt);
  const auto without = seen_in({{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n1"}});
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->cards);
}

TEST(SlurmAllocation, NumbersThatItDoesNotHaveAreNamed) {
  const Snapshot host =
      SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).gpu("C", 24_GiB).build();
  EXPECT_EQ(not_given_by_slurm("0,2", "0,1", host), "2");
  EXPECT_EQ(not_given_by_slurm("7", "0,1", host), "7");
  EXPECT_EQ(not_given_by_slurm("1", "0,1", host), std::nullopt);
  EXPECT_EQ(not_given_by_slurm("", "0,1", host), std::nullopt);
  EXPECT_EQ(not_given_by_slurm("GPU-C", "0,1", host), std::nullopt);
  // The job sees its cards alone, and counts them from 0.
  EXPECT_EQ(not_given_by_slurm("0,1", "2,3", host), std::nullopt);
  EXPECT_EQ(not_given_by_slurm("0", "GPU-B", host), std::nullopt);
}

TEST(SlurmAllocation, NumbersBeginAnewWhereTheOthersAreHidden) {
  const Snapshot job = SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).build();
  EXPECT_EQ(cards_as_seen("4,5", job), "0,1");
  EXPECT_EQ(cards_as_seen("1,2", job), "0,1");  // the host's 1 is not the job's
  EXPECT_EQ(cards_as_seen("1", job), "1");      // nothing is hidden
  EXPECT_EQ(cards_as_seen("GPU-A,GPU-B", job), "GPU-A,GPU-B");
}

TEST(SlurmAllocation, NobodyElseCountsOnItsCards) {
  SnapshotBuilder builder;
  builder.gpu("A", 24_GiB).used(3_GiB).process(7, "bob", 2_GiB).claim("eve");
  builder.gpu("B", 24_GiB).used(5_GiB).process(8, "bob", 5_GiB);
  Snapshot host = builder.build();
  host.claims.at(0).uid = 4;
  host.waiters.emplace_back();
  const Snapshot seen = as_allocated(host, {DeviceId("A")}, 5);
  EXPECT_THAT(seen.claims, IsEmpty());
  EXPECT_THAT(seen.waiters, IsEmpty());
  ASSERT_EQ(seen.gpu_processes.size(), 1U);  // the other card's stays
  EXPECT_EQ(seen.gpu_processes[0].device, DeviceId("B"));
  EXPECT_EQ(seen.devices.at(0).memory_used, Reading<Bytes>(0_B));
  EXPECT_EQ(seen.devices.at(1).memory_used, Reading<Bytes>(5_GiB));
}

TEST(SlurmAllocation, ItsUsersOwnLeasesDo) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).claim("ann").build();
  host.claims.at(0).uid = 5;
  EXPECT_EQ(as_allocated(host, {DeviceId("A")}, 5).claims.size(), 1U);
}

TEST(SlurmAllocation, TellsWhoIsOnItsCardsAndShouldNotBe) {
  SnapshotBuilder builder;
  builder.gpu("A", 24_GiB).process(7, "bob", 2_GiB).claim("eve");
  builder.gpu("B", 24_GiB).process(8, "bob", 5_GiB);
  Snapshot host = builder.build();
  host.claims.at(0).uid = 4;
  const auto said = leftovers_on({{.device = DeviceId("A"), .index = 0}}, host, 5);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_THAT(said[0].english(), HasSubstr("process 7 of bob is on it (python train.py)"));
  EXPECT_THAT(said[1].english(), HasSubstr("eve has leased it without Slurm"));
  host.claims.at(0).uid = 5;
  host.claims.at(0).job = ProcessId{.pid = 7};
  EXPECT_THAT(leftovers_on({{.device = DeviceId("A"), .index = 0}}, host, 5), IsEmpty());
}

TEST(SlurmAllocation, WhatIsInTheContainerOfItsUsersRunIsNotLeftThere) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).process(7, "root", 2_GiB).claim("ann").build();
  host.claims.at(0).uid = 5;
  host.claims.at(0).container = std::string(64, 'a');
  host.processes.at(0).enclosure = Enclosure{.runtime = "docker", .id = std::string(64, 'a')};
  EXPECT_THAT(leftovers_on({{.device = DeviceId("A"), .index = 0}}, host, 5), IsEmpty());
  EXPECT_EQ(as_allocated(host, {DeviceId("A")}, 5).gpu_processes.size(), 1U);
}

}  // namespace
}  // namespace berth
