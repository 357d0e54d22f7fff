#include "place/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> chosen(const Placement& placement) {
  std::vector<std::string> ids;
  for (const Choice& choice : placement.chosen) ids.push_back(choice.device.text());
  return ids;
}

const Refusal& refusal(const Placement& placement, std::size_t at = 0) {
  static const Refusal none{.text = sentence("not refused")};
  EXPECT_LT(at, placement.refused.size()) << "device was not refused";
  return at < placement.refused.size() ? placement.refused[at] : none;
}

std::string rule_of(const Placement& placement, std::size_t at = 0) {
  return at < placement.refused.size() ? std::string(name_of(placement.refused[at].rule)) : "none";
}

Request share(Bytes bytes) { return Request{.memory = MemoryShare(bytes)}; }

TEST(Promisable, IsTotalLessTheLargerOfPromisedAndUsedLessStrangers) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .used(30_GiB)
                            .claim("alice", 10_GiB, 100)
                            .process(100, "alice", 15_GiB)
                            .claim("bob", 20_GiB, 200)
                            .process(200, "bob", 5_GiB)
                            .process(300, "carol", 10_GiB)
                            .build();
  // 80 - max(10, 15) - max(20, 5) - (30 - 15 - 5)
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(35_GiB));
}

TEST(Promisable, CountsAPromiseWhoseJobHasNotAllocated) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).claim("alice", 60_GiB).build();
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(20_GiB));
}

TEST(Promisable, DeductsWhatTheDriverReserves) {
  const Snapshot host =
      SnapshotBuilder().gpu("A", 80_GiB).with([](Device& d) { d.memory_reserved = 1_GiB; }).build();
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(79_GiB));
}

TEST(Placement, NamesTheDevicesInTheOrderTheyWereChosenIn) {
  const std::vector<Choice> chosen = {{.device = DeviceId("B")}, {.device = DeviceId("A")}};
  EXPECT_THAT(devices_of(chosen), ElementsAre(DeviceId("B"), DeviceId("A")));
}

TEST(Place, GivesOfEqualsWhatTheUsersLastJobWasOn) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .gpu("B", 80_GiB)
                            .gpu("C", 80_GiB)
                            .claim("alice", 10_GiB)
                            .gpu("D", 80_GiB)
                            .build();
  const PlaceLimits again{.last_had = {DeviceId("D")}};
  EXPECT_THAT(chosen(place(host, {}, again)), ElementsAre("D"));
  EXPECT_THAT(chosen(place(host, {.prefer = Preference::most_free}, again)), ElementsAre("D"));
  EXPECT_THAT(chosen(place(host, {.devices = 2}, again)), ElementsAre("A", "D"));
  EXPECT_THAT(chosen(place(host, share(5_GiB), again)), ElementsAre("C"))
      << "where least is left over: not all else is equal";
  EXPECT_THAT(chosen(place(host, {}, {.last_had = {DeviceId("C")}})), ElementsAre("A"));
}

TEST(Place, TheLastDeviceOfWhoAsksIsNoBusinessOfThoseBefore) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  host.waiters = {{.id = "first", .request = to_json(Request{})}};
  EXPECT_THAT(chosen(place_newcomer(host, {}, {.last_had = {DeviceId("B")}})), ElementsAre("B"));
  EXPECT_THAT(chosen(place_newcomer(host, {}, {.last_had = {DeviceId("A")}})), ElementsAre("B"))
      << "A is kept for the first";
}

TEST(Promisable, IsNothingUnderAWholeLeaseAndNeverWraps) {
  const Snapshot whole = SnapshotBuilder().gpu("A", 80_GiB).claim("alice").build();
  EXPECT_EQ(promisable_memory(whole.devices[0], whole), Reading<Bytes>(0_B));
  const Snapshot over = SnapshotBuilder().gpu("A", 8_GiB).used(9_GiB).claim("a", 5_GiB).build();
  EXPECT_EQ(promisable_memory(over.devices[0], over), Reading<Bytes>(0_B));
}

TEST(Promisable, PromisesTooLittleWhereAProcessHidesItsMemory) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 80_GiB)
                      .used(15_GiB)
                      .claim("alice", 20_GiB, 100)
                      .process(100, "alice", 15_GiB)
                      .build();
  host.gpu_processes[0].memory = Absent::unsupported;
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(45_GiB));
}

TEST(Promisable, IsAbsentWithTheReason) {
  const Snapshot host = SnapshotBuilder().gpu("A", Absent::no_permission).build();
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(Absent::no_permission));
}

TEST(Promisable, AttributesDescendantsOfAKeeperToItsLease) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 80_GiB)
                      .used(15_GiB)
                      .claim("alice", 20_GiB, 100)
                      .process(140, "alice", 15_GiB)
                      .build();
  host.processes[0].ancestors = {120, 100, 1};
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(60_GiB));
}

TEST(Promisable, AttributesWhatRunsInALeasesContainerToIt) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 80_GiB)
                      .used(35_GiB)
                      .claim("alice", 40_GiB, 100)
                      .process(140, "alice", 35_GiB)
                      .build();
  host.processes[0].ancestors = {130, 1};  // the engine's, none of the keeper's
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(5_GiB));
  host.claims[0].container = std::string(64, 'c');
  host.processes[0].enclosure = Enclosure{.runtime = "docker", .id = host.claims[0].container};
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(40_GiB));
}

TEST(Place, GivesAFreeDeviceWithAReason) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  const Placement got = place(host, Request{});
  ASSERT_EQ(got.chosen.size(), 1U);
  EXPECT_EQ(got.chosen[0].reason.english(), "free, 80.0 GiB, smallest that will do");
  EXPECT_EQ(got.chosen[0].promised, std::nullopt);
  EXPECT_TRUE(got.possible);
}

Snapshot with_failed(const char* id, Snapshot host) {
  host.faults = {{.device = DeviceId(id),
                  .evidence = Sentence("a broken row of memory could not be replaced")}};
  return host;
}

TEST(Place, AFailedDeviceIsRefusedWithWhatIsWrongAndHowToTakeIt) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  const Placement got = place(with_failed("A", host), Request{});
  EXPECT_THAT(chosen(got), ElementsAre("B"));
  EXPECT_EQ(rule_of(got), "failed");
  EXPECT_THAT(refusal(got).text.english(),
              HasSubstr("a broken row of memory could not be replaced"));
  EXPECT_THAT(refusal(got).text.english(), HasSubstr("--allow-failed"));
  EXPECT_FALSE(refusal(got).may_change);
}

TEST(Place, AFailedDeviceIsGivenToWhoAllowsIt) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  const Placement got = place(with_failed("A", host), Request{.allow_failed = true});
  EXPECT_THAT(chosen(got), ElementsAre("A"));
  EXPECT_THAT(got.refused, IsEmpty());
}

TEST(Place, ADeviceThatCouldNotBeJudgedIsRefusedForNowUntilItIsAllowed) {
  const auto unread = [](Device& device) {
    device.details.put(Detail::recovery_action, Absent::failed);
  };
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).with(unread).build();
  const Placement got = place(host, Request{});
  EXPECT_EQ(rule_of(got), "failed");
  EXPECT_THAT(refusal(got).text.english(), HasSubstr("whether it has failed could not be read"));
  EXPECT_TRUE(refusal(got).may_change) << "the next look may read it";
  EXPECT_THAT(chosen(place(host, Request{.allow_failed = true})), ElementsAre("A"));
}

TEST(Place, WhereTheLedgerCouldNotBeReadNothingIsGiven) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.sources = {{"ledger", false}};
  for (const Request& request : {Request{}, Request{.memory = 1_GiB}}) {
    const Placement got = place(host, request);
    EXPECT_EQ(rule_of(got), "leased");
    EXPECT_EQ(refusal(got).text.english(), "who has leased it could not be read");
    EXPECT_TRUE(refusal(got).may_change);
  }
}

TEST(Place, ALostDeviceIsCalledLostAlsoWhereItIsJudgedFailedOrAllowed) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.devices[0].lost = true;
  EXPECT_EQ(rule_of(place(with_failed("A", host), Request{})), "lost");
  EXPECT_EQ(rule_of(place(with_failed("A", host), Request{.allow_failed = true})), "lost");
}

TEST(Place, WhatNobodyAskedForIsNotCalledBroken) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  const Request others{.except = {DevicePattern{"A"}}};
  EXPECT_EQ(rule_of(place(with_failed("A", host), others)), "excluded");
}

TEST(Place, WholeRequestIsRefusedByAnyLease) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 80_GiB)
                      .claim("alice", 10_GiB)
                      .gpu("B", 80_GiB)
                      .claim("bob")
                      .build();
  host.claims[0].job = ProcessId{.pid = 4711, .start_ticks = 1};
  host.claims[0].since = WallTime{5};
  const Placement got = place(host, Request{});
  EXPECT_FALSE(got.satisfied());
  EXPECT_TRUE(got.possible);
  EXPECT_EQ(refusal(got).rule, Rule::leased);
  EXPECT_THAT(refusal(got).text.english(), HasSubstr("10.0 GiB promised"));
  EXPECT_THAT(refusal(got).holders,
              ElementsAre(Holder{"alice", 4711, "python train.py", WallTime{5}}));
  EXPECT_FALSE(refusal(got).is_leased_whole);
  EXPECT_TRUE(refusal(got, 1).is_leased_whole);
  EXPECT_EQ(refusal(got, 1).text.english(), "leased whole");
  EXPECT_EQ(refusal(got, 1).holders.at(0).pid, 0);
}

TEST(Place, StrangersComputeBlocksAWholeRequestInAllItsForms) {
  for (const GpuUse use : {GpuUse::compute, GpuUse::both, GpuUse::mps}) {
    const Snapshot host =
        SnapshotBuilder().gpu("A", 80_GiB).used(1_GiB).process(7, "eve", 1_GiB, use).build();
    const Placement got = place(host, Request{});
    EXPECT_EQ(rule_of(got), "in_use");
    EXPECT_EQ(refusal(got).holders.at(0).user, "eve");
    EXPECT_EQ(refusal(got).holders.at(0).command, "python train.py");
  }
}

TEST(Place, ProcessOutsideItsLeaseIsAStrangerThere) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 80_GiB)
                      .claim("alice", std::nullopt, 100)
                      .gpu("B", 80_GiB)
                      .used(1_GiB)
                      .process(100, "alice", 1_GiB)
                      .build();
  EXPECT_EQ(rule_of(place(host, Request{}), 1), "in_use");
}

TEST(Place, DesktopDoesNotBlockItsCardButCostsMemory) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 8_GiB)
                            .used(927_MiB)
                            .utilization(20_percent)
                            .process(900, "gdm", 300_MiB, GpuUse::graphics)
                            .process(901, "alice", 350_MiB, GpuUse::graphics)
                            .build();
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("A"));
  EXPECT_THAT(chosen(place(host, Request{.idle_for = Milliseconds{5000}})), ElementsAre("A"));
  EXPECT_THAT(chosen(place(host, share(7_GiB))), ElementsAre("A"));
  EXPECT_EQ(rule_of(place(host, share(Bytes{7'600ULL << 20}))), "memory");
  EXPECT_EQ(rule_of(place(host, Request{.max_utilization = 10_percent})), "utilization");
}

TEST(Place, GhostMemoryBlocksAWholeRequest) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).used(20_GiB).build();
  const Placement got = place(host, Request{});
  EXPECT_EQ(rule_of(got), "in_use");
  EXPECT_EQ(refusal(got).text.english(), "20.0 GiB in use by nobody that can be seen");
  EXPECT_THAT(chosen(place(host, share(50_GiB))), ElementsAre("A"));
}

TEST(Place, GhostMemoryBesideADesktopBlocksToo) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .used(20_GiB)
                            .process(900, "gdm", 4_MiB, GpuUse::graphics)
                            .build();
  EXPECT_EQ(rule_of(place(host, Request{})), "in_use");
}

TEST(Place, AFewMegabytesOfAnIdleDriverAreNobodys) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).used(15_MiB).build();
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("A"));
}

TEST(Place, LoadWithNobodySeenBlocksAWholeRequest) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).utilization(85_percent).build();
  const Placement got = place(host, Request{});
  EXPECT_EQ(rule_of(got), "utilization");
  EXPECT_THAT(refusal(got).text.english(), HasSubstr("85 %"));
}

TEST(Place, ShareGoesWhereMemoryIsLeftToPromise) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .used(61_GiB)
                            .process(7, "eve", 61_GiB)
                            .gpu("B", 80_GiB)
                            .claim("alice", 70_GiB)
                            .build();
  EXPECT_THAT(chosen(place(host, share(15_GiB))), ElementsAre("A"));
  const Placement got = place(host, share(30_GiB));
  EXPECT_FALSE(got.satisfied());
  EXPECT_EQ(refusal(got).text.english(), "holds 61.0 GiB, 19.0 GiB of 80.0 GiB left to promise");
  EXPECT_EQ(refusal(got).holders.at(0).user, "eve");
  EXPECT_EQ(refusal(got, 1).holders.at(0).user, "alice");
  EXPECT_TRUE(got.possible);
}

TEST(Place, PercentagesAreOfWhatTheDriverLeaves) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .with([](Device& d) { d.memory_reserved = 2_GiB; })
                            .claim("alice", 39_GiB)
                            .build();
  const Placement got = place(host, Request{.memory = MemoryShare(50_percent)});
  ASSERT_TRUE(got.satisfied());
  EXPECT_EQ(got.chosen[0].promised, 39_GiB);
}

TEST(Place, RefusesADeviceWhoseProcessesCouldNotBeListed) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .with([](Device& device) { device.process_count = Absent::failed; })
                            .gpu("B", 80_GiB)
                            .build();
  const Placement got = place(host, Request{});
  EXPECT_THAT(chosen(got), ElementsAre("B"));
  EXPECT_EQ(rule_of(got), "idle_unknown");
}

TEST(Place, SharesWithAStrangerOnlyWhereNothingElseWillDo) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .used(60_GiB)
                            .process(4711, "alice", 60_GiB)
                            .gpu("B", 80_GiB)
                            .build();
  EXPECT_THAT(chosen(place(host, share(10_GiB))), ElementsAre("B"));
  const Snapshot crowded =
      SnapshotBuilder().gpu("A", 80_GiB).used(60_GiB).process(4711, "alice", 60_GiB).build();
  EXPECT_THAT(chosen(place(crowded, share(10_GiB))), ElementsAre("A"));
}

TEST(Place, TooLargeAShareIsNeverPossible) {
  const Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
  const Placement got = place(host, share(40_GiB));
  EXPECT_FALSE(got.possible);
  EXPECT_FALSE(refusal(got).may_change);
  EXPECT_THAT(refusal(got).text.english(), HasSubstr("24.0 GiB"));
}

TEST(Place, SkipsDeviceWhoseFreeMemoryIsUnknown) {
  const Snapshot host = SnapshotBuilder().gpu("A", Absent::no_permission).gpu("B", 20_GiB).build();
  const Placement got = place(host, share(10_GiB));
  EXPECT_THAT(chosen(got), ElementsAre("B"));
  EXPECT_EQ(refusal(got).text.english(), "free memory unknown: no permission to read it");
  EXPECT_EQ(rule_of(place(host, Request{})), "memory_unknown");
}

TEST(Place, CardWhoseMemoryIsTheCpusIsOffered) {
  const Snapshot host = SnapshotBuilder().gpu("A", Absent::unsupported).build();
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("A"));
  EXPECT_EQ(rule_of(place(host, share(1_GiB))), "memory_unknown");
}

TEST(Place, LostUnusableAndUnsupportedAreNeverPossible) {
  const auto refused_as = [](auto change) {
    const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).with(change).build();
    const Placement got = place(host, Request{});
    EXPECT_FALSE(got.possible);
    return rule_of(got);
  };
  EXPECT_EQ(refused_as([](Device& d) { d.lost = true; }), "lost");
  EXPECT_EQ(refused_as([](Device& d) { d.unusable_because = WhyUnusable("no driver"); }),
            "unusable");
  EXPECT_EQ(refused_as([](Device& d) { d.kind = DeviceKind::other; }), "unusable");
  EXPECT_EQ(refused_as([](Device& d) { d.compute_mode = std::string("Prohibited"); }),
            "compute_mode");
}

TEST(Place, ExclusiveProcessModeTakesOneSharer) {
  const auto one = [](Device& d) { d.compute_mode = std::string("Exclusive_Process"); };
  const Snapshot free = SnapshotBuilder().gpu("A", 80_GiB).with(one).build();
  EXPECT_THAT(chosen(place(free, share(1_GiB))), ElementsAre("A"));
  const Snapshot taken = SnapshotBuilder().gpu("A", 80_GiB).with(one).claim("a", 1_GiB).build();
  const Placement got = place(taken, share(1_GiB));
  EXPECT_EQ(rule_of(got), "compute_mode");
  EXPECT_TRUE(got.possible);
}

TEST(Place, OnlyExceptAndVisibleLimitTheChoice) {
  const Snapshot host =
      SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).gpu("C", 8_GiB).gpu("D", 8_GiB).build();
  PlaceLimits limits;
  limits.visible = {DeviceId("A"), DeviceId("B"), DeviceId("C")};
  const Placement got =
      place(host, Request{.only = {{"1"}, {"2"}, {"3"}}, .except = {{"1"}}}, limits);
  EXPECT_THAT(chosen(got), ElementsAre("C"));
  EXPECT_EQ(rule_of(got, 0), "not_listed");
  EXPECT_EQ(rule_of(got, 1), "excluded");
  EXPECT_EQ(rule_of(got, 2), "not_visible");
  EXPECT_FALSE(place(host, Request{.devices = 2, .only = {{"1"}}}).possible);
}

TEST(Place, SaysWhetherTheVariableOrTheLeaseKeepsADeviceOut) {
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  PlaceLimits limits;
  limits.visible = {DeviceId("A")};
  const Placement by_variable = place(host, Request{.devices = 2}, limits);
  EXPECT_EQ(refusal(by_variable).text.english(), "not in CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(by_variable.hidden_by_variable, 1U);
  limits.visible_by = VisibleBy::lease;
  const Placement by_lease = place(host, Request{.devices = 2}, limits);
  EXPECT_EQ(refusal(by_lease).text.english(),
            "not among the devices of the lease or Slurm job this runs inside of");
  EXPECT_EQ(by_lease.hidden_by_variable, 0U);
}

TEST(Place, NamesTheVariableThatIsSet) {
  const auto amd = [](Device& device) { device.kind = DeviceKind::amd_gpu; };
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).with(amd).build();
  const PlaceLimits limits{.visible = std::vector<DeviceId>(),
                           .hidden_by = {{DeviceId("A"), "HIP_VISIBLE_DEVICES"}}};
  const Placement got = place(host, Request{}, limits);
  EXPECT_EQ(refusal(got).text.english(), "not in HIP_VISIBLE_DEVICES");
  EXPECT_THAT(got.hiding_variables, ElementsAre("HIP_VISIBLE_DEVICES"));
  EXPECT_TRUE(got.variable_hides_all);
}

TEST(Place, NamesEachVariableThatHides) {
  const auto amd = [](Device& device) { device.kind = DeviceKind::amd_gpu; };
  const Snapshot host =
      SnapshotBuilder().gpu("A", 8_GiB).with(amd).gpu("B", 8_GiB).with(amd).build();
  const PlaceLimits limits{.visible = std::vector<DeviceId>(),
                           .hidden_by = {{DeviceId("A"), "ROCR_VISIBLE_DEVICES"},
                                         {DeviceId("B"), "HIP_VISIBLE_DEVICES"}}};
  const Placement got = place(host, Request{}, limits);
  EXPECT_THAT(got.hiding_variables, ElementsAre("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"));
}

TEST(Place, NamesTheVariableAlsoWhereEachDeviceIsRefusedForMore) {
  const Snapshot lost =
      SnapshotBuilder().gpu("A", 8_GiB).with([](Device& device) { device.lost = true; }).build();
  PlaceLimits none{.visible = std::vector<DeviceId>(),
                   .hidden_by = {{DeviceId("A"), "HIP_VISIBLE_DEVICES"}}};
  EXPECT_THAT(place(lost, Request{}, none).hiding_variables, ElementsAre("HIP_VISIBLE_DEVICES"));
  none.hidden_by.clear();
  EXPECT_THAT(place(Snapshot{}, Request{}, none).hiding_variables,
              ElementsAre("CUDA_VISIBLE_DEVICES"));
}

TEST(Place, AsksTheChipForWhatTheJobNeeds) {
  const auto capability = [](int major, int minor) {
    return [=](Device& d) { d.compute_capability = ComputeCapability{major, minor}; };
  };
  const Snapshot host = SnapshotBuilder()
                            .gpu("turing", 8_GiB)
                            .with(capability(7, 5))
                            .gpu("ampere", 8_GiB)
                            .with(capability(8, 6))
                            .gpu("ada", 8_GiB)
                            .with(capability(8, 9))
                            .build();
  const Placement bf16 = place(host, Request{.needs = {Need::bf16}});
  EXPECT_THAT(chosen(bf16), ElementsAre("ampere"));
  EXPECT_EQ(refusal(bf16).text.english(), "compute capability 7.5, 8.0 (for bf16) is needed");
  EXPECT_THAT(chosen(place(host, Request{.needs = {Need::fp8}})), ElementsAre("ada"));
  const Placement newer = place(host, Request{.min_compute = ComputeCapability{9, 0}});
  EXPECT_FALSE(newer.possible);
  EXPECT_EQ(rule_of(newer), "too_old");
}

TEST(Place, SaysThatAnotherMakersChipIsNotKnownAndNotThatItLacksANumberOfNvidias) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 64_GiB)
                            .with([](Device& device) {
                              device.kind = DeviceKind::ascend_npu;
                              device.architecture = Absent::unsupported;
                              device.compute_capability = Absent::unsupported;
                            })
                            .build();
  const Placement bf16 = place(host, Request{.needs = {Need::bf16}});
  EXPECT_EQ(rule_of(bf16), "lacks_feature");
  EXPECT_EQ(refusal(bf16).text.english(), "whether it has bf16 is not known: leave --need out");
  const Placement newer = place(host, Request{.min_compute = ComputeCapability{8, 0}});
  EXPECT_EQ(rule_of(newer), "too_old");
  EXPECT_EQ(refusal(newer).text.english(), "it has no compute capability: leave --min-compute out");
}

TEST(Place, DeviceOfUnknownSizeIsNotTheSmallest) {
  const auto unified = [](Device& d) {
    d.memory_total = d.memory_used = d.memory_free = Absent::unsupported;
  };
  const Snapshot host =
      SnapshotBuilder().gpu("spark", 8_GiB).with(unified).gpu("A", 80_GiB).build();
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("A"));
  EXPECT_THAT(chosen(place(host, Request{.prefer = Preference::most_free})), ElementsAre("A"));
  EXPECT_THAT(chosen(place(host, Request{.devices = 2})), ElementsAre("spark", "A"));
}

TEST(Place, AllOrNothing) {
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  const Placement got = place(host, Request{.devices = 2});
  EXPECT_THAT(chosen(got), IsEmpty());
  EXPECT_EQ(got.available.size(), 1U);
  EXPECT_TRUE(got.possible);
  EXPECT_FALSE(place(host, Request{.devices = 3}).possible);
  EXPECT_FALSE(place(Snapshot{}, Request{}).possible);
}

TEST(Place, EveryDeviceIsChosenAvailableOrRefused) {
  const Snapshot host =
      SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").gpu("C", 8_GiB).build();
  const Placement got = place(host, Request{});
  EXPECT_EQ(got.chosen.size() + got.available.size() + got.refused.size(), 3U);
}

TEST(Place, ReservedDeviceIsLeftToTheQueue) {
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  PlaceLimits limits;
  limits.reserved = {{.part = {DeviceId("A"), {}}}};
  const Placement got = place(host, Request{}, limits);
  EXPECT_THAT(chosen(got), ElementsAre("B"));
  EXPECT_EQ(rule_of(got), "reserved");
}

// --- preferences
// -----------------------------------------------------------------------------------

TEST(Prefer, BestFitLeavesLeastOver) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .gpu("B", 24_GiB)
                            .gpu("C", 80_GiB)
                            .claim("x", 65_GiB)
                            .build();
  EXPECT_THAT(chosen(place(host, share(10_GiB))), ElementsAre("C"));
  EXPECT_THAT(chosen(place(host, share(20_GiB))), ElementsAre("B"));
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("B"));
}

TEST(Prefer, BestFitTakesTheCardWithoutADesktop) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 24_GiB)
                            .used(200_MiB)
                            .process(9, "gdm", 200_MiB, GpuUse::graphics)
                            .gpu("B", Bytes{24'600ULL << 20})
                            .build();
  EXPECT_THAT(chosen(place(host, Request{})), ElementsAre("B"));
}

TEST(Prefer, MostFreeTakesTheEmptiest) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .claim("x", 60_GiB)
                            .gpu("B", 24_GiB)
                            .gpu("C", 80_GiB)
                            .claim("x", 50_GiB)
                            .build();
  Request request = share(10_GiB);
  request.prefer = Preference::most_free;
  EXPECT_THAT(chosen(place(host, request)), ElementsAre("C"));
  EXPECT_THAT(chosen(place(host, Request{.prefer = Preference::most_free})), ElementsAre("B"));
}

TEST(Prefer, SpreadTakesTheFewestLeases) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .claim("x", 1_GiB)
                            .gpu("B", 24_GiB)
                            .used(1_GiB)
                            .process(9, "eve", 1_GiB)
                            .gpu("C", 24_GiB)
                            .build();
  Request request = share(10_GiB);
  request.prefer = Preference::spread;
  EXPECT_THAT(chosen(place(host, request)), ElementsAre("C"));
}

TEST(Prefer, ListedKeepsItsOrderThenTheRest) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 8_GiB)
                            .gpu("B", 8_GiB)
                            .gpu("C", 8_GiB)
                            .claim("x")
                            .gpu("D", 8_GiB)
                            .build();
  const Request request{
      .devices = 3, .prefer = Preference::listed, .preferred = {{"3"}, {"2"}, {"1"}}};
  EXPECT_THAT(chosen(place(host, request)), ElementsAre("D", "B", "A"));
}

TEST(Prefer, TiesGoByIndexAndTheAnswerIsInOrderOfIndex) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).gpu("C", 8_GiB).build();
  std::swap(host.devices[0], host.devices[2]);
  EXPECT_THAT(chosen(place(host, Request{.devices = 2})), ElementsAre("A", "B"));
}

// --- MIG
// -------------------------------------------------------------------------------------------

Snapshot divided_and_whole() {
  const auto instance = [](std::uint32_t place) {
    return [=](Device& d) {
      d.kind = DeviceKind::nvidia_mig;
      d.parent = DeviceId("A");
      d.index = 0;
      d.partition = Partition{place, 0};
      d.utilization_gpu = Absent::unsupported;
      d.utilization_history = Absent::unsupported;
    };
  };
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .used(21_GiB)
      .with([](Device& d) { d.mig_mode = true; })
      .gpu("M1", 20_GiB)
      .with(instance(1))
      .gpu("M2", 20_GiB)
      .with(instance(2))
      .gpu("B", 80_GiB)
      .with([](Device& d) { d.index = 1; })
      .build();
}

TEST(PlaceMig, RefusesTheDividedCardAndOffersItsInstances) {
  const Snapshot host = divided_and_whole();
  const Placement got = place(host, Request{.only = {{"0"}}, .idle_for = Milliseconds{5000}});
  EXPECT_EQ(rule_of(got), "divided");
  EXPECT_THAT(chosen(got), ElementsAre("M1"));
}

TEST(PlaceMig, CardOfWhichNobodyKnowsWhetherItIsDividedIsRefused) {
  Snapshot host = divided_and_whole();
  host.devices[3].mig_mode = Absent::failed;
  const Placement got = place(host, Request{.only = {{"1"}}});
  EXPECT_THAT(chosen(got), IsEmpty());
  EXPECT_EQ(refusal(got, 3).text.english(), "whether MIG divides it could not be read");
  EXPECT_TRUE(got.possible) << "the next look may tell";
}

TEST(PlaceMig, WholeRequestTakesAWholeCardFirstAndAShareTheInstance) {
  EXPECT_THAT(chosen(place(divided_and_whole(), Request{})), ElementsAre("B"));
  EXPECT_THAT(chosen(place(divided_and_whole(), share(10_GiB))), ElementsAre("M1"));
}

TEST(PlaceMig, SeveralDevicesAreNeverInstances) {
  const Placement got = place(divided_and_whole(), Request{.devices = 2});
  EXPECT_FALSE(got.possible);
  EXPECT_THAT(refusal(got, 1).text.english(), HasSubstr("one MIG instance"));
}

TEST(PlaceMig, ProcessesAndLeasesOfTheCardReachItsInstances) {
  Snapshot host = divided_and_whole();
  host.gpu_processes.push_back({.device = DeviceId("A"), .pid = 5, .partition = Partition{1, 0}});
  EXPECT_THAT(chosen(place(host, Request{.only = {{"0"}}})), ElementsAre("M2"));
  host.claims.push_back({.user = "alice", .devices = {{DeviceId("A"), std::nullopt}}});
  EXPECT_THAT(chosen(place(host, Request{.only = {{"0"}}})), IsEmpty());
}

// --- idleness
// --------------------------------------------------------------------------------------

using History = std::vector<UtilizationSample>;

Placement idle_for(int ms, Reading<History> history, Reading<Percent> now = 0_percent,
                   const PlaceLimits& limits = {}) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .with([&](Device& d) {
                              d.utilization_history = history;
                              d.utilization_gpu = now;
                            })
                            .build();
  return place(host, Request{.idle_for = Milliseconds{ms}}, limits);
}

UtilizationSample sample(int age_ms, double busy) { return {Milliseconds{age_ms}, Percent{busy}}; }

TEST(Idle, EmptyHistoryAndNoProcessIsIdle) {
  const Placement got = idle_for(60'000, History{});
  ASSERT_TRUE(got.satisfied());
  EXPECT_THAT(got.chosen[0].reason.english(), HasSubstr("nothing in the driver's history"));
}

TEST(Idle, BusySampleWithinTheWindowRefuses) {
  const Placement got = idle_for(5000, History{sample(100, 0), sample(3000, 90), sample(9000, 0)});
  EXPECT_EQ(rule_of(got), "not_idle");
  EXPECT_EQ(refusal(got).text.english(), "90 % busy 3s ago, asked to be idle for 5s");
}

TEST(Idle, BusySampleBeforeTheWindowDoesNot) {
  EXPECT_TRUE(idle_for(5000, History{sample(100, 0), sample(9000, 90)}).satisfied());
}

TEST(Idle, WindowLongerThanTheHistoryIsWatchedFromNowOn) {
  const History history{sample(100, 0), sample(16'000, 0)};
  const Placement got = idle_for(60'000, history);
  EXPECT_EQ(rule_of(got), "not_watched_long");
  EXPECT_EQ(refusal(got).text.english(), "idle, but watched for 16s of the 1m00s asked for");
  PlaceLimits limits;
  limits.watched_idle = {{DeviceId("A"), Milliseconds{61'000}}};
  EXPECT_TRUE(idle_for(60'000, history, 0_percent, limits).satisfied());
}

TEST(Idle, WithoutHistoryUtilisationNowSpeaks) {
  for (const Absent why : {Absent::unsupported, Absent::no_permission, Absent::not_sampled}) {
    EXPECT_TRUE(idle_for(5000, why, 0_percent).satisfied());
    PlaceLimits none;
    EXPECT_FALSE(idle_for(5000, why, 90_percent, none).satisfied());
  }
}

TEST(Idle, FailedEvidenceRefuses) {
  EXPECT_EQ(rule_of(idle_for(5000, Absent::failed)), "idle_unknown");
  EXPECT_EQ(rule_of(idle_for(5000, Absent::unsupported, Absent::failed)), "idle_unknown");
  EXPECT_EQ(rule_of(idle_for(5000, History{sample(1, 0)}, Absent::failed)), "idle_unknown");
}

TEST(Idle, ShareBesideAComputingProcessIsWatched) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .used(1_GiB)
                            .process(9, "eve", 1_GiB)
                            .with([](Device& d) { d.utilization_history = Absent::unsupported; })
                            .build();
  Request request = share(1_GiB);
  request.idle_for = Milliseconds{5000};
  EXPECT_EQ(rule_of(place(host, request)), "not_watched_long");
  PlaceLimits limits;
  limits.watched_idle = {{DeviceId("A"), Milliseconds{5000}}};
  EXPECT_TRUE(place(host, request, limits).satisfied());
}

TEST(Rules, HaveEachAName) {
  for (int i = 0; i <= static_cast<int>(Rule::reserved); ++i) {
    EXPECT_FALSE(name_of(static_cast<Rule>(i)).empty());
  }
}

TEST(Place, ADeviceThatWasNotHeardMayDoLaterUnlessItsIndexWasLeftOut) {
  const auto unheard = [](Device& d) { d.unusable_because = Unusable::unanswered; };
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).with(unheard).build();
  const auto asked = [&](std::vector<DevicePattern> only, std::vector<DevicePattern> except) {
    return place(host, Request{.only = std::move(only), .except = std::move(except)});
  };
  EXPECT_TRUE(asked({}, {}).possible);
  EXPECT_EQ(rule_of(asked({}, {})), "unusable");
  EXPECT_TRUE(refusal(asked({}, {})).may_change);
  EXPECT_TRUE(asked({{"0"}}, {}).possible);
  EXPECT_TRUE(asked({{"*H100*"}}, {}).possible);
  EXPECT_FALSE(asked({{"1"}}, {}).possible);
  EXPECT_FALSE(asked({}, {{"0"}}).possible);
}

TEST(Place, WhatNoDeviceHasInAllIsNeverPossibleWhoeverIsOnThem) {
  const Request request{.memory = MemoryShare(100_GiB)};
  Snapshot host =
      SnapshotBuilder().gpu("A", 80_GiB).claim("x").gpu("B", 24_GiB).used(20_GiB).build();
  const Placement got = place(host, request);
  EXPECT_FALSE(got.possible);
  ASSERT_THAT(got.refused, testing::SizeIs(2));
  EXPECT_EQ(got.refused[0].text.english(), "too small: 80.0 GiB in all, 100.0 GiB wanted");
  host.devices[0].memory_total = Absent::failed;
  EXPECT_TRUE(place(host, request).possible) << "it may have enough";
}

TEST(Place, AShareOfAnEmptyDeviceIsFreeAndOneBesideOthersShared) {
  const Request request{.memory = MemoryShare(10_GiB)};
  const Snapshot host =
      SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 24_GiB).claim("x", 10_GiB).build();
  Request of_a = request;
  of_a.only = {{"A"}};
  EXPECT_EQ(place(host, of_a).chosen.at(0).reason.english(),
            "free, 80.0 GiB of 80.0 GiB left, smallest that will do");
  EXPECT_EQ(place(host, request).chosen.at(0).reason.english(),
            "shared, 14.0 GiB of 24.0 GiB left, least left over");
}

}  // namespace
}  // namespace berth
