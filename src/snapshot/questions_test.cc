#include "snapshot/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DeviceState state(const Snapshot& host) { return state_of(host.devices[0], host); }

TEST(StateOf, NothingOnItIsFree) {
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).build()), DeviceState::free);
}
TEST(StateOf, LeaseMakesItLeased) {
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).claim("x").build()), DeviceState::leased);
}
TEST(StateOf, ComputingWithoutALeaseIsBusy) {
  EXPECT_EQ(state(SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .utilization(90_percent)
                      .process(5, "eve", 1_GiB)
                      .build()),
            DeviceState::busy);
}
TEST(StateOf, ProcessThatOnlySitsThereHolds) {
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).process(5, "eve", 1_GiB).build()),
            DeviceState::held);
}
TEST(StateOf, PauseBetweenBatchesIsBusy) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 8_GiB)
                            .process(5, "eve", 1_GiB)
                            .with([](Device& d) {
                              d.utilization_history =
                                  std::vector<UtilizationSample>{{Milliseconds{9000}, Percent{50}}};
                            })
                            .build();
  EXPECT_EQ(state(host), DeviceState::busy);
}
TEST(StateOf, DesktopLeavesItFree) {
  EXPECT_EQ(state(SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .used(927_MiB)
                      .utilization(20_percent)
                      .process(5, "gdm", 700_MiB, GpuUse::graphics)
                      .build()),
            DeviceState::free);
}
TEST(StateOf, MemoryOfNobodyIsHeldAndLoadOfNobodyBusy) {
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).used(2_GiB).build()), DeviceState::held);
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).utilization(50_percent).build()),
            DeviceState::busy);
}
TEST(StateOf, LostAndUnusableComeFirst) {
  const auto lost = [](Device& d) { d.lost = true; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).claim("x").with(lost).build()),
            DeviceState::lost);
  const auto driverless = [](Device& d) { d.unusable_because = "no driver"; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(driverless).build()),
            DeviceState::unusable);
}

TEST(ClaimOf, FollowsAncestorsToTheKeeper) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .claim("alice", std::nullopt, 100)
                      .process(140, "alice", 1_GiB)
                      .process(150, "eve", 1_GiB)
                      .build();
  host.processes[0].ancestors = {120, 100, 1};
  EXPECT_EQ(claim_of(140, host), &host.claims[0]);
  EXPECT_EQ(claim_of(100, host), &host.claims[0]);
  EXPECT_EQ(claim_of(150, host), nullptr);
}

TEST(ClaimOf, LeaseWithoutAKeeperAdoptsNobody) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .claim("alice", std::nullopt, 0)
                      .process(140, "eve", 1_GiB)
                      .build();
  host.processes[0].ancestors = {1, 0};
  EXPECT_EQ(claim_of(140, host), nullptr);
  EXPECT_EQ(claim_of(0, host), nullptr);
}

TEST(ProcessesOn, MigParentHasThoseOfItsInstances) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .gpu("M", 20_GiB)
                            .with([](Device& d) { d.parent = DeviceId("A"); })
                            .process(5, "alice", 1_GiB)
                            .build();
  EXPECT_THAT(processes_on(DeviceId("A"), host), SizeIs(1));
  EXPECT_THAT(processes_on(DeviceId("M"), host), SizeIs(1));
  EXPECT_THAT(processes_on(DeviceId("B"), host), IsEmpty());
}

TEST(UsersOf, NamesEachUserOnce) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 8_GiB)
                            .claim("bob")
                            .process(5, "bob", 1_GiB)
                            .process(6, "alice", 1_GiB)
                            .build();
  EXPECT_THAT(users_of(host.devices[0], host), ElementsAre("alice", "bob"));
}

TEST(UnexplainedMemory, IsUsedLessTheProcesses) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).used(3_GiB).process(5, "bob", 1_GiB).build();
  EXPECT_EQ(unexplained_memory(host.devices[0], host), Reading<Bytes>(2_GiB));
  host.gpu_processes[0].memory = 4_GiB;
  EXPECT_EQ(unexplained_memory(host.devices[0], host), Reading<Bytes>(0_B));
  host.gpu_processes[0].memory = Absent::unsupported;
  EXPECT_EQ(unexplained_memory(host.devices[0], host), Reading<Bytes>(Absent::unsupported));
}

}  // namespace
}  // namespace berth
