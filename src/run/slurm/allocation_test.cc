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

/// The devices' ids, or the error's text.
std::vector<std::string> devices_in(const Snapshot& host, const VisibleSettings& settings,
                                    const char* cards, bool is_inside = false) {
  const auto given = cards != nullptr ? std::optional<std::string>(cards) : std::nullopt;
  const auto left = devices_of_job(settings, given, is_inside, host);
  if (!left) return {left.error().message()};
  if (!*left) return {"any"};
  std::vector<std::string> ids;
  for (const DeviceId& id : (*left)->devices) ids.push_back(id.text());
  return ids;
}

Snapshot three_cards() {
  return SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).gpu("C", 24_GiB).build();
}

TEST(DevicesOfJob, AreThoseThatSlurmGave) {
  const Snapshot host = three_cards();
  EXPECT_THAT(devices_in(host, {}, nullptr), ElementsAre("any"));
  EXPECT_THAT(devices_in(host, {}, "0,2"), ElementsAre("A", "C"));
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", ""}}, "1"), ElementsAre("B"))
      << "Slurm's plugin may leave it empty";
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "-1"}}, "1"), IsEmpty());
}

TEST(DevicesOfJob, AreOfTheGivenThoseThatAListNames) {
  const Snapshot host = three_cards();
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "1"}}, "0,1"), ElementsAre("B"));
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "0,2"}}, "0,1"),
              ElementsAre(HasSubstr("names GPU 2, and Slurm gave this job GPU 0,1")));
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "7"}}, "0,1"),
              ElementsAre(HasSubstr("names GPU 7")));
  // What is hidden cannot be told from what was not given.
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "0,1"}}, "2,3,4"), ElementsAre("A", "B"));
}

TEST(DevicesOfJob, OfAUuidCannotBeToldWhetherSlurmGaveIt) {
  SnapshotBuilder builder;
  builder.gpu("GPU-a", 24_GiB).gpu("GPU-b", 24_GiB).gpu("GPU-c", 24_GiB);
  const Snapshot host = builder.build();
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "GPU-b"}}, "0,1"), ElementsAre("GPU-b"));
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "GPU-c"}}, "0,1"),
              ElementsAre(HasSubstr("its own variables show none of them")));
  EXPECT_THAT(devices_in(host, {{"CUDA_VISIBLE_DEVICES", "0"}}, "GPU-b"), ElementsAre("GPU-a"));
  EXPECT_THAT(devices_in(host, {}, "GPU-b,GPU-c"), ElementsAre("GPU-b", "GPU-c"));
}

TEST(DevicesOfJob, AreCountedByPciAddressAsSlurmDoes) {
  SnapshotBuilder builder;
  builder.gpu("A", 24_GiB);
  builder.gpu("B", 80_GiB).with([](Device& device) { device.name = std::string("another card"); });
  const Snapshot mixed = builder.build();
  const auto with = [](const char* order) {
    return VisibleSettings{{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", order}};
  };
  EXPECT_THAT(devices_in(mixed, {{"CUDA_VISIBLE_DEVICES", "1"}}, "0,1"), ElementsAre("B"));
  EXPECT_THAT(devices_in(mixed, with("FASTEST_FIRST"), "0,1"),
              ElementsAre(HasSubstr("CUDA_DEVICE_ORDER")));
}

TEST(DevicesOfJob, ReadsNumbersAnewWhereTheOthersAreHidden) {
  const Snapshot job = SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).build();
  EXPECT_THAT(devices_in(job, {}, "4,5"), ElementsAre("A", "B"));
  EXPECT_THAT(devices_in(job, {}, "1,2"), ElementsAre("A", "B")) << "the host's 1 is not the job's";
  EXPECT_THAT(devices_in(job, {}, "1"), ElementsAre("B")) << "nothing is hidden";
  EXPECT_THAT(devices_in(job, {}, "GPU-B"),
              ElementsAre(HasSubstr("gave this job GPU GPU-B, and 2 can be seen here")));
  EXPECT_THAT(devices_in(job, {}, "4,5,6"), ElementsAre(HasSubstr("and 2 can be seen here")));
}

TEST(DevicesOfJob, InsideALeaseAreNotWidened) {
  const Snapshot leased = SnapshotBuilder().gpu("B", 24_GiB).build();
  EXPECT_THAT(devices_in(leased, {}, "0,1", true), ElementsAre("any")) << "the lease's one";
  EXPECT_THAT(devices_in(leased, {{"CUDA_VISIBLE_DEVICES", "0"}}, "0,1", true), ElementsAre("B"));
  EXPECT_THAT(devices_in(three_cards(), {}, "0,1", true), ElementsAre("A", "B"))
      << "the lease hides none";
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
