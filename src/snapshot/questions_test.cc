#include "snapshot/questions.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "snapshot/builder.h"
#include "snapshot/device_fault.h"
#include "snapshot/fields.h"
#include "snapshot/snapshot_index.h"

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
TEST(StateOf, UnreadableProcessListIsUnknownNotFree) {
  const auto blind = [](Device& d) { d.process_count = Absent::failed; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(blind).build()), DeviceState::unknown);
  const auto refused = [](Device& d) { d.process_count = Absent::no_permission; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).used(2_GiB).with(refused).build()),
            DeviceState::unknown);
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(refused).build()), DeviceState::free)
      << "its memory tells, as it does to a placement";
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).claim("x").with(blind).build()),
            DeviceState::leased);
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).utilization(50_percent).with(blind).build()),
            DeviceState::busy);
  // A source that never tells (an old capture) is no failure.
  const auto silent = [](Device& d) { d.process_count = Absent::not_sampled; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(silent).build()), DeviceState::free);
}
TEST(StateOf, LostAndUnusableComeFirst) {
  const auto lost = [](Device& d) { d.lost = true; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).claim("x").with(lost).build()),
            DeviceState::lost);
  const auto driverless = [](Device& d) { d.unusable_because = WhyUnusable("no driver"); };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(driverless).build()),
            DeviceState::unusable);
}

TEST(StateOf, FailedTakesThePlaceOfFreeAndUnknownAlone) {
  const auto failed = [](SnapshotBuilder builder) {
    Snapshot host = builder.build();
    host.faults = {
        {DeviceId("A"), FaultKind::failed, "row_remap_failed", Sentence("no spare is left")}};
    return host;
  };
  const auto card = [] { return SnapshotBuilder().gpu("A", 8_GiB); };
  EXPECT_EQ(state(failed(card())), DeviceState::failed);
  const auto blind = [](Device& d) { d.process_count = Absent::failed; };
  EXPECT_EQ(state(failed(card().with(blind))), DeviceState::failed);
  EXPECT_EQ(state(failed(card().claim("x"))), DeviceState::leased);
  EXPECT_EQ(state(failed(card().utilization(90_percent).process(5, "eve", 1_GiB))),
            DeviceState::busy);
  EXPECT_EQ(state(failed(card().used(2_GiB))), DeviceState::held);
  EXPECT_EQ(state(failed(card().with([](Device& d) { d.lost = true; }))), DeviceState::lost);
  EXPECT_EQ(
      state(failed(card().with([](Device& d) { d.unusable_because = WhyUnusable("no driver"); }))),
      DeviceState::unusable);
  Snapshot other = failed(card());
  other.faults[0].device = DeviceId("B");
  EXPECT_EQ(state(other), DeviceState::free);
}
TEST(StateOf, WhatForbidsAJobIsAFieldWhoeverIsOnIt) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  host.faults = {
      {DeviceId("B"), FaultKind::failed, "row_remap_failed", Sentence("no spare is left")}};
  const Field* field = find_field("failed_because");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->read(host.devices[0], host), Cell(Scalar(std::string())));
  EXPECT_EQ(field->read(host.devices[1], host), Cell(Scalar(std::string("no spare is left"))));
}

TEST(StateOf, WhatCouldNotBeJudgedIsUnknownNotFree) {
  for (const Detail verdict :
       {Detail::remapped_rows_failed, Detail::recovery_action, Detail::unrepairable_memory}) {
    Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
    for (const Absent fine : {Absent::unsupported, Absent::no_permission, Absent::not_sampled}) {
      host.devices[0].details.put(verdict, fine);
      EXPECT_EQ(state(host), DeviceState::free) << name_of(fine);
      EXPECT_FALSE(is_verdict_unread(host.devices[0], host)) << name_of(fine);
    }
    host.devices[0].details.put(verdict, Absent::failed);
    EXPECT_EQ(state(host), DeviceState::unknown);
    EXPECT_EQ(find_field("failed_because")->read(host.devices[0], host), Cell(Absent::failed));
    host.faults = {{DeviceId("A"), FaultKind::failed, "recovery_action", Sentence("reset it")}};
    EXPECT_EQ(state(host), DeviceState::failed) << "another verdict was read, and is enough";
  }
}

TEST(StateOf, WhereTheLedgerCouldNotBeReadNothingIsFree) {
  Snapshot host =
      SnapshotBuilder().gpu("A", 8_GiB).process(5, "eve", 1_GiB).gpu("B", 8_GiB).build();
  host.sources = {{"nvml", true}, {"ledger", true}};
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::free);
  host.sources[1].succeeded = false;
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::held);
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::unknown);
  for (const char* key : {"leases", "users"}) {
    EXPECT_EQ(find_field(key)->read(host.devices[1], host), Cell(Absent::failed)) << key;
  }
}
TEST(Users, AreUnknownWhereTheListOfProcessesIs) {
  for (const Absent why : {Absent::failed, Absent::no_permission}) {
    Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).claim("alice").build();
    host.devices[0].process_count = why;
    EXPECT_EQ(find_field("users")->read(host.devices[0], host), Cell(why));
    EXPECT_EQ(find_field("leases")->read(host.devices[0], host), Cell(Scalar(std::uint64_t{1})));
  }
}

Snapshot divided_card() {
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .with([](Device& d) { d.mig_mode = true; })
      .gpu("M", 20_GiB)
      .with([](Device& d) {
        d.kind = DeviceKind::nvidia_mig;
        d.mig_mode = true;
        d.parent = DeviceId("A");
        d.partition = Partition{1, 0};
      })
      .build();
}
TEST(StateOf, DividedCardIsNotWhatAJobIsGivenAndItsInstanceIs) {
  Snapshot host = divided_card();
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::divided);
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::free);
  host.devices[1].memory_used = 5_GiB;
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::held);
}
TEST(StateOf, InstanceIsAsUnknownAsItsCardsVerdict) {
  Snapshot host = divided_card();
  host.devices[0].details.put(Detail::remapped_rows_failed, Absent::failed);
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::divided);
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::unknown);
}
TEST(StateOf, InstanceHasItsCardsLeaseAndItsUnplacedProcesses) {
  Snapshot host = divided_card();
  host.gpu_processes.push_back({.device = DeviceId("A"), .pid = 5, .partition = Partition{2, 0}});
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::free) << "it runs on another instance";
  host.gpu_processes[0].partition.reset();
  EXPECT_NE(state_of(host.devices[1], host), DeviceState::free);
  host.claims.push_back({.user = "alice", .devices = {{DeviceId("A"), std::nullopt}}});
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::leased);
}
TEST(StateOf, UnreadModeOfMigIsUnknownNotWhole) {
  const auto unread = [](Device& d) { d.mig_mode = Absent::failed; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(unread).build()), DeviceState::unknown);
  const auto without = [](Device& d) { d.mig_mode = Absent::unsupported; };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(without).build()), DeviceState::free);
}
TEST(StateOf, WhereNobodyMayComputeIsNotFree) {
  const auto prohibited = [](Device& d) { d.compute_mode = std::string("Prohibited"); };
  EXPECT_EQ(state(SnapshotBuilder().gpu("A", 8_GiB).with(prohibited).build()),
            DeviceState::unusable);
}
TEST(StateOf, DesktopExplainsAGibibyteAndNotMore) {
  const auto drawn_on = [](Bytes used) {
    return SnapshotBuilder()
        .gpu("A", 24_GiB)
        .used(used)
        .process(5, "gdm", 700_MiB, GpuUse::graphics)
        .build();
  };
  EXPECT_EQ(state(drawn_on(1700_MiB)), DeviceState::free);
  EXPECT_EQ(state(drawn_on(9_GiB)), DeviceState::held);
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

TEST(UnexplainedMemory, IsUnknownWhereTheListOfProcessesIsUnread) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).used(3_GiB).build();
  host.devices[0].process_count = Absent::failed;
  EXPECT_EQ(unexplained_memory(host.devices[0], host), Reading<Bytes>(Absent::failed));
  EXPECT_EQ(unexplained_memory(host.devices[0], SnapshotIndex(host)),
            Reading<Bytes>(Absent::failed));
}

TEST(UnexplainedMemory, OfAnInstanceMayBeThatOfItsCardsUnplacedProcesses) {
  Snapshot host = divided_card();
  host.devices[1].memory_used = 5_GiB;
  EXPECT_EQ(unexplained_memory(host.devices[1], host), Reading<Bytes>(5_GiB));
  host.gpu_processes.push_back({.device = DeviceId("A"), .pid = 5, .memory = 3_GiB});
  EXPECT_EQ(unexplained_memory(host.devices[1], host), Reading<Bytes>(2_GiB));
  host.gpu_processes[0].partition = Partition{2, 0};
  EXPECT_EQ(unexplained_memory(host.devices[1], host), Reading<Bytes>(5_GiB)) << "on another";
}

/// Any claims, processes and MIG instances on few devices and pids, so that they meet.
Snapshot random_host(std::mt19937& random) {
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  SnapshotBuilder builder;
  for (int i = 0; i < 6; ++i) {
    builder.gpu("GPU-" + std::to_string(i), 8_GiB).used(Bytes{random() % (1ULL << 33)});
    if (i > 2 && below(2) == 0) {
      builder.with([&](Device& one) { one.parent = DeviceId("GPU-" + std::to_string(below(3))); });
    }
    for (int k = below(4); k > 0; --k) builder.process(1 + below(20), "eve", 1_GiB);
    if (below(2) == 0) builder.claim("bob", std::nullopt, below(20));
  }
  Snapshot host = builder.build();
  for (HostProcess& process : host.processes) process.ancestors = {below(20), below(20), 1};
  for (Claim& claim : host.claims) {
    if (below(2) == 0) claim.job = ProcessId{.pid = below(20)};
    claim.devices.push_back({DeviceId("GPU-" + std::to_string(below(7))), {}});
  }
  host.gpu_processes.push_back({.device = DeviceId("GPU-unknown"), .pid = 3});
  for (int k = below(3); k > 0; --k) {
    host.faults.push_back({.device = DeviceId("GPU-" + std::to_string(below(7)))});
  }
  if (below(2) == 0) host.host.process_view = std::string("namespace");
  for (HostProcess& process : host.processes) {
    if (below(4) == 0) process.uid = Absent::failed;
  }
  return host;
}

TEST(SnapshotIndex, AnswersAsThePlainQuestionsDo) {
  std::mt19937 random{7};
  for (int round = 0; round < 300; ++round) {
    const Snapshot host = random_host(random);
    const SnapshotIndex index(host);
    for (int number = 0; number < 8; ++number) {
      const DeviceId id("GPU-" + std::to_string(number));
      ASSERT_EQ(index.device(id), find_device(id, host)) << round;
      ASSERT_EQ(index.processes_on(id), processes_on(id, host)) << round;
      ASSERT_EQ(index.claims_on(id), claims_on(id, host)) << round;
    }
    for (const Device& device : host.devices) {
      ASSERT_EQ(state_of(device, index), state_of(device, host)) << round;
      ASSERT_EQ(unexplained_memory(device, index), unexplained_memory(device, host)) << round;
    }
    for (pid_t pid = -1; pid < 22; ++pid) {
      ASSERT_EQ(index.process(pid), find_process(pid, host)) << round;
    }
  }
}
/// 80 GiB, of which leases were promised 40 and 20; `unleased` of dan and eve together.
Snapshot shared_card(Bytes unleased, Bytes used_by_alice = 10_GiB) {
  const Bytes half(unleased.count() / 2);
  SnapshotBuilder builder;
  builder.gpu("A", 80_GiB)
      .used(used_by_alice + 5_GiB + half + half)
      .process(11, "alice", used_by_alice)
      .claim("alice", 40_GiB, 11)
      .process(12, "bob", 5_GiB)
      .claim("bob", 20_GiB, 12)
      .process(13, "dan", half)
      .process(14, "eve", half);
  return builder.build();
}

TEST(PromisesTaken, SaysWhoUsesWhatLeasesAreStillPromised) {
  const Snapshot host = shared_card(30_GiB);
  const PromisesTaken taken = promises_taken(host.devices[0], SnapshotIndex(host));
  EXPECT_EQ(taken.memory, 10_GiB);
  EXPECT_THAT(taken.by, ElementsAre(UnleasedUse{"dan", 15_GiB}, UnleasedUse{"eve", 15_GiB}));
  EXPECT_THAT(taken.promised_to, ElementsAre(&host.claims[0], &host.claims[1]));
}
TEST(PromisesTaken, IsNothingWhereEachPromiseCanBeKept) {
  const Snapshot host = shared_card(20_GiB);
  EXPECT_THAT(promises_taken(host.devices[0], SnapshotIndex(host)).by, IsEmpty());
}
TEST(PromisesTaken, BlamesNobodyForALeaseThatIsOverItsPromise) {
  const Snapshot host = shared_card(20_GiB, 55_GiB);
  EXPECT_THAT(promises_taken(host.devices[0], SnapshotIndex(host)).by, IsEmpty());
}
TEST(PromisesTaken, BlamesNobodyWhereAnythingIsUnknown) {
  Snapshot unread = shared_card(30_GiB);
  unread.gpu_processes[2].memory = Absent::unsupported;
  EXPECT_THAT(promises_taken(unread.devices[0], SnapshotIndex(unread)).by, IsEmpty());
  Snapshot inside = shared_card(30_GiB);
  inside.host.process_view = std::string("container");
  EXPECT_THAT(promises_taken(inside.devices[0], SnapshotIndex(inside)).by, IsEmpty())
      << "ours have other numbers";
}

TEST(SnapshotIndex, KnowsWhatRunsOnAParentItself) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .process(5, "eve", 1_GiB)
                      .gpu("M", 4_GiB)
                      .with([](Device& one) { one.parent = DeviceId("A"); })
                      .process(6, "bob", 1_GiB)
                      .build();
  const SnapshotIndex index(host);
  EXPECT_THAT(index.processes_on(DeviceId("A")), SizeIs(2));
  EXPECT_THAT(index.processes_itself(DeviceId("A")), ElementsAre(&host.gpu_processes[0]));
  EXPECT_THAT(index.processes_itself(DeviceId("none")), IsEmpty());
}

TEST(Obstacle, IsTheFirstOfWhatSpeaksAgainstADevice) {
  const auto of = [](void (*change)(Device&), bool is_failed = false) {
    Snapshot host = SnapshotBuilder().gpu("GPU-A", 80_GiB).build();
    change(host.devices[0]);
    if (is_failed) host.faults = {{.device = DeviceId("GPU-A"), .code = "row_remap_failed"}};
    return obstacle_of(host.devices[0], host);
  };
  EXPECT_EQ(of([](Device&) {}), Obstacle::none);
  EXPECT_EQ(of([](Device&) {}, true), Obstacle::failed);
  const auto unread = [](Device& d) { d.details.put(Detail::recovery_action, Absent::failed); };
  EXPECT_EQ(of(unread), Obstacle::unjudged);
  EXPECT_EQ(of(unread, true), Obstacle::failed);
  EXPECT_EQ(of([](Device& d) { d.lost = true; }, true), Obstacle::lost);
  EXPECT_EQ(of([](Device& d) { d.unusable_because = Unusable::given_to_machine; }, true),
            Obstacle::unusable);
  EXPECT_EQ(of([](Device& d) { d.unusable_because = Unusable::silent; }), Obstacle::silent);
}

}  // namespace
}  // namespace berth
