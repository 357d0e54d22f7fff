#include "alert/rule_matches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/sentence.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Snapshot host_with(const std::function<void(Device&)>& change) {
  Snapshot host =
      SnapshotBuilder()
          .gpu("GPU-A", 80_GiB)
          .with([&](Device& device) {
            device.pci_address = std::string("00000000:3b:00.0");
            device.throttle_reasons = ClockReasons(0);
            device.mig_mode = Absent::unsupported;
            device.process_count = std::uint64_t{0};
            device.details.set(Detail::remapped_rows_pending, Reading<bool>(false));
            device.details.set(Detail::retired_pages_pending, Reading<bool>(Absent::unsupported));
            device.details.set(Detail::remapped_rows_failed, Reading<bool>(false));
            device.details.put(Detail::recovery_action, Absent::unsupported);
            device.details.set(Detail::unrepairable_memory, Reading<bool>(false));
            change(device);
          })
          .build();
  host.sources = {{"nvml", true}};
  return host;
}
Snapshot healthy_host() {
  return host_with([](Device&) {});
}

RuleMatches seen_in(const Snapshot& host, const AlertSettings& settings = {}) {
  return matches({.snapshot = host, .now = host.taken}, settings);
}
std::vector<std::string> rules_of(const RuleMatches& found) {
  std::vector<std::string> names;
  for (const Alert& one : found.seen) names.emplace_back(name_of(one.rule));
  return names;
}
bool is_unknown(const RuleMatches& found, AlertRule rule) {
  return std::any_of(found.unknown.begin(), found.unknown.end(),
                     [&](const Unknown& one) { return one.rule == rule; });
}

TEST(AlertRules, EachHasOneRowWhichSaysWhatItSees) {
  for (std::size_t number = 0; number < alert_rule_count; ++number) {
    const AlertRuleFacts& facts = facts_of(static_cast<AlertRule>(number));
    EXPECT_EQ(facts.rule, static_cast<AlertRule>(number)) << "no row for rule " << number;
    EXPECT_EQ(alert_rule_from_name(facts.name), facts.rule) << facts.name;
    const int ways =
        (facts.see != nullptr) + (facts.see_device != nullptr) + (facts.see_card != nullptr);
    EXPECT_EQ(ways, 1) << facts.name;
  }
}

TEST(RuleMatches, OfAHealthyMachineAreNoneAndNothingIsUnknown) {
  const RuleMatches found = seen_in(healthy_host());
  EXPECT_THAT(rules_of(found), IsEmpty());
  EXPECT_THAT(found.unknown, IsEmpty());
}

TEST(RuleMatches, SeeALostCard) {
  const RuleMatches found = seen_in(host_with([](Device& device) {
    device.lost = true;
    device.throttle_reasons = Absent::failed;
  }));
  EXPECT_THAT(rules_of(found), ElementsAre("gpu_lost"));
  EXPECT_EQ(found.seen[0].severity, AlertSeverity::critical);
  EXPECT_EQ(found.seen[0].subject, "GPU-A");
  EXPECT_EQ(found.seen[0].index, 0);
  EXPECT_TRUE(is_unknown(found, AlertRule::throttled_long)) << "a lost card is not cool";
}

TEST(RuleMatches, SeeACardThatNobodyIsGivenAnyMore) {
  const RuleMatches found = seen_in(host_with([](Device& device) {
    device.details.set(Detail::remapped_rows_failed, Reading<bool>(true));
  }));
  EXPECT_THAT(rules_of(found), ElementsAre("gpu_failed"));
  EXPECT_EQ(found.seen[0].severity, AlertSeverity::critical);
  EXPECT_EQ(found.seen[0].subject, "GPU-A");
  EXPECT_THAT(found.seen[0].summary.english(), ::testing::HasSubstr("could not be replaced"));
  const RuleMatches unread = seen_in(host_with(
      [](Device& device) { device.details.put(Detail::recovery_action, Absent::failed); }));
  EXPECT_THAT(rules_of(unread), IsEmpty());
  EXPECT_TRUE(is_unknown(unread, AlertRule::gpu_failed)) << "an alert of it does not end";
}

TEST(RuleMatches, SeeMemoryThatWaitsForItsRepair) {
  for (const Detail detail : {Detail::remapped_rows_pending, Detail::retired_pages_pending}) {
    const RuleMatches found = seen_in(
        host_with([&](Device& device) { device.details.set(detail, Reading<bool>(true)); }));
    EXPECT_THAT(rules_of(found), ElementsAre("ecc_pending"));
  }
}

TEST(RuleMatches, DoNotKnowWhatWasNotRead) {
  const RuleMatches found = seen_in(host_with([](Device& device) {
    device.details.set(Detail::remapped_rows_pending, Reading<bool>(Absent::failed));
    device.throttle_reasons = Absent::no_permission;
    device.memory_used = Absent::failed;
  }));
  EXPECT_THAT(rules_of(found), IsEmpty());
  EXPECT_TRUE(is_unknown(found, AlertRule::ecc_pending));
  EXPECT_TRUE(is_unknown(found, AlertRule::throttled_long));
  EXPECT_TRUE(is_unknown(found, AlertRule::ghost_memory));
}

TEST(RuleMatches, SayNothingOfMemoryOfNobodyWhereUsedIsTheSumOfWhatProcessesHold) {
  const auto of = [](DeviceKind kind) {
    return seen_in(host_with([&](Device& device) {
      device.kind = kind;
      device.memory_used = 8_GiB;
    }));
  };
  EXPECT_THAT(rules_of(of(DeviceKind::amd_gpu)), ElementsAre("ghost_memory"));
  EXPECT_THAT(rules_of(of(DeviceKind::intel_gpu)), IsEmpty());
  EXPECT_FALSE(is_unknown(of(DeviceKind::intel_gpu), AlertRule::ghost_memory));
}

TEST(RuleMatches, SeeHeatAndPowerAndNotAFullLoad) {
  const auto throttled = [](std::uint64_t mask) {
    return rules_of(
        seen_in(host_with([&](Device& device) { device.throttle_reasons = ClockReasons(mask); })));
  };
  EXPECT_THAT(throttled(0x40), ElementsAre("throttled_long"));
  EXPECT_THAT(throttled(0x80), ElementsAre("throttled_long"));
  EXPECT_THAT(throttled(0x04), IsEmpty()) << "the power limit holds back each card in full use";
}

TEST(RuleMatches, SeeMemoryOfNobodyFromTheThresholdOn) {
  const auto ghost = [](Bytes used, const AlertSettings& settings) {
    return rules_of(
        seen_in(host_with([&](Device& device) { device.memory_used = used; }), settings));
  };
  EXPECT_THAT(ghost(Bytes((1_GiB).count() - 1), {}), IsEmpty());
  EXPECT_THAT(ghost(1_GiB, {}), ElementsAre("ghost_memory"));
  AlertSettings settings;
  settings.of(AlertRule::ghost_memory).threshold = (4_GiB).count();
  EXPECT_THAT(ghost(1_GiB, settings), IsEmpty());
}

Snapshot held(Percent load, Bytes memory) {
  Snapshot host = SnapshotBuilder()
                      .gpu("GPU-A", 80_GiB)
                      .used(memory)
                      .utilization(load)
                      .process(4711, "alice", memory)
                      .with([](Device& device) { device.process_count = std::uint64_t{1}; })
                      .build();
  host.processes[0].uid = uid_t{1001};
  return host;
}
std::vector<std::string> idle_holders(const Snapshot& host) {
  std::vector<std::string> found;
  for (const Alert& one : seen_in(host).seen) {
    if (one.rule == AlertRule::idle_holder) found.push_back(one.summary.english());
  }
  return found;
}

TEST(RuleMatches, SeeWhoHoldsWhatHeDoesNotUse) {
  EXPECT_THAT(idle_holders(held(0_percent, 10_GiB)),
              ElementsAre("10.0 GiB are held and nothing is computed"));
  EXPECT_THAT(idle_holders(held(50_percent, 10_GiB)), IsEmpty());
  EXPECT_THAT(idle_holders(held(0_percent, 100_MiB)), IsEmpty()) << "below the threshold";
  const RuleMatches found = seen_in(held(0_percent, 10_GiB));
  ASSERT_THAT(found.seen.back().users, testing::SizeIs(1));
  EXPECT_EQ(found.seen.back().users[0].name, "alice");
  EXPECT_THAT(found.seen.back().summary.english(), testing::Not(HasSubstr("alice")))
      << "policy may hide the name";
  EXPECT_THAT(found.seen.back().advice.english(), testing::Not(HasSubstr("stop")))
      << "what has no run cannot be stopped so";
}

TEST(RuleMatches, SeeALeaseThatNothingRunsUnder) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("GPU-A", 80_GiB)
                            .with([](Device& device) { device.process_count = std::uint64_t{0}; })
                            .claim("alice")
                            .build();
  EXPECT_THAT(idle_holders(host), ElementsAre("it is leased and nothing is computed"));
  EXPECT_THAT(seen_in(host).seen.back().advice.english(), HasSubstr("berth stop"));
}

TEST(RuleMatches, OfIdleHoldersAreOfThoseWhoHoldAndNotOfTheDevice) {
  const auto subject = [](const Snapshot& host) { return seen_in(host).seen.back().subject; };
  const Snapshot alice = held(0_percent, 10_GiB);
  Snapshot bob = alice;
  bob.processes[0].uid = uid_t{1002};
  bob.processes[0].user = std::string("bob");
  EXPECT_EQ(subject(alice), subject(held(0_percent, 20_GiB)));
  EXPECT_NE(subject(alice), subject(bob)) << "who takes it over begins anew";
  const auto leased = [](const char* id) {
    Snapshot host = SnapshotBuilder()
                        .gpu("GPU-A", 80_GiB)
                        .with([](Device& device) { device.process_count = std::uint64_t{0}; })
                        .claim("alice")
                        .build();
    host.claims[0].id = id;
    return host;
  };
  EXPECT_NE(subject(leased("lease-1")), subject(leased("lease-2")));
}

TEST(RuleMatches, DoNotKnowWhoIsIdleWhereMemoryIsHidden) {
  Snapshot host = held(0_percent, 10_GiB);
  host.gpu_processes[0].memory = Absent::no_permission;
  EXPECT_THAT(idle_holders(host), IsEmpty());
  EXPECT_TRUE(is_unknown(seen_in(host), AlertRule::idle_holder));
}

TEST(RuleMatches, DoNotCallAnUnreadLoadIdle) {
  Snapshot host = held(0_percent, 10_GiB);
  host.devices[0].utilization_gpu = Absent::failed;
  host.devices[0].utilization_history = Absent::failed;
  EXPECT_THAT(idle_holders(host), IsEmpty());
  EXPECT_TRUE(is_unknown(seen_in(host), AlertRule::idle_holder));
}

TEST(RuleMatches, SeeAnErrorAtItsOwnTimeAndItsOwnSeverity) {
  Snapshot host = healthy_host();
  const WallTime at{host.taken.unix_ms - 60'000};
  const WallTime long_ago{host.taken.unix_ms - 2 * 3'600'000};
  host.xids = std::vector<XidEvent>{{"00000000:3b:00.0", 13, long_ago},
                                    {"00000000:3b:00.0", 43, at},
                                    {"00000000:3b:00.0", 79, at}};
  const RuleMatches found = seen_in(host);
  ASSERT_THAT(rules_of(found), ElementsAre("xid", "xid")) << "an hour ago is over";
  EXPECT_EQ(found.seen[0].subject, "GPU-A 43");
  EXPECT_EQ(found.seen[0].severity, AlertSeverity::notice);
  EXPECT_EQ(found.seen[1].severity, AlertSeverity::critical);
  EXPECT_EQ(found.seen[1].last_seen, at);
  EXPECT_EQ(found.seen[1].since, at);
}

TEST(RuleMatches, SeeNoErrorFromBeforeTheDriverWasLoaded) {
  Snapshot host = healthy_host();
  const WallTime at{host.taken.unix_ms - 60'000};
  host.xids = std::vector<XidEvent>{{"00000000:3b:00.0", 79, at}};
  host.driver_loaded = WallTime{at.unix_ms - 30'000};
  EXPECT_THAT(rules_of(seen_in(host)), ElementsAre("xid"));
  host.driver_loaded = WallTime{at.unix_ms + 30'000};
  EXPECT_THAT(rules_of(seen_in(host)), IsEmpty()) << "the load set the device up anew";
}

TEST(RuleMatches, SeeADiskFromTheThresholdOn) {
  const auto at = [](std::uint64_t available) {
    const Snapshot host = healthy_host();
    return rules_of(matches({.snapshot = host,
                             .now = host.taken,
                             .disks = {{"the state", Bytes(1000), Bytes(available)}}},
                            {}));
  };
  EXPECT_THAT(at(51), IsEmpty());
  EXPECT_THAT(at(50), ElementsAre("disk_nearly_full"));
}

TEST(RuleMatches, DoNotKnowADiskThatDoesNotAnswer) {
  const Snapshot host = healthy_host();
  const RuleMatches found = matches(
      {.snapshot = host, .now = host.taken, .disks = {{"it", Absent::failed, Absent::failed}}}, {});
  EXPECT_TRUE(is_unknown(found, AlertRule::disk_nearly_full));
}

TEST(RuleMatches, SeeASourceThatFailsAndKnowNothingOfItsDevices) {
  Snapshot host = healthy_host();
  host.sources = {{"nvml", false}, {"pci", true}};
  host.problems = {
      {"nvml", std::nullopt, "driver_not_loaded", Sentence("the driver is not loaded"), {}}};
  const RuleMatches found = seen_in(host);
  ASSERT_THAT(rules_of(found), ElementsAre("probe_failing"));
  EXPECT_EQ(found.seen[0].summary.english(), "nvml cannot be asked: driver_not_loaded");
  EXPECT_TRUE(is_unknown(found, AlertRule::gpu_lost));
}

TEST(RuleMatches, MissNoDriverWhereThereIsNoCard) {
  Snapshot host;
  host.sources = {{"nvml", false}, {"pci", true}};
  host.problems = {{"nvml", std::nullopt, "library_not_found", Sentence("there is no driver"), {}}};
  EXPECT_THAT(rules_of(seen_in(host)), IsEmpty());
}

TEST(RuleMatches, SayOfAnOldLookOnlyThatNoneCame) {
  Snapshot host = host_with([](Device& device) { device.lost = true; });
  const RuleMatches found = matches(
      {.snapshot = host, .now = host.taken, .is_fresh = false, .unanswered_since = host.taken}, {});
  EXPECT_THAT(rules_of(found), ElementsAre("probe_failing"));
  EXPECT_TRUE(is_unknown(found, AlertRule::gpu_lost));
}

TEST(RuleMatches, SeeNothingByARuleThatIsOff) {
  AlertSettings settings;
  for (const AlertRuleFacts& facts : alert_rules()) settings.of(facts.rule).is_on = false;
  Snapshot host = host_with([](Device& device) {
    device.lost = true;
    device.throttle_reasons = ClockReasons(0x40);
  });
  host.sources = {{"nvml", false}};
  host.xids = std::vector<XidEvent>{{"00000000:3b:00.0", 79, host.taken}};
  EXPECT_THAT(rules_of(seen_in(host, settings)), IsEmpty());
}

}  // namespace
}  // namespace berth
