#include "health/health.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/builder.h"
#include "snapshot/device_fault.h"
#include "snapshot/device_kind.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Snapshot with(void (*change)(Device&)) {
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .with([&](Device& device) {
        device.pci_address = std::string("00000000:3b:00.0");
        device.ecc_corrected = device.ecc_uncorrected = std::uint64_t{0};
        device.throttle_reasons = ClockReasons(0);
        device.temperature = Celsius(40);
        change(device);
      })
      .build();
}
/// The first device's health. Each finding is one of its rule's row.
DeviceHealth health_in(const Snapshot& host) {
  for (const health::HealthRule& rule : health::all_rules()) {
    for (const Finding& finding : rule.find(host.devices[0], host)) {
      EXPECT_TRUE(reports(rule.reports, finding.rule)) << finding.rule << ": not in its rule's row";
    }
  }
  return health_of(host.devices[0], host);
}
std::vector<std::string> codes(const Snapshot& host) {
  std::vector<std::string> found;
  for (const Finding& finding : health_in(host).findings) found.push_back(finding.rule);
  return found;
}
HealthState state(const Snapshot& host) { return health_in(host).state; }

TEST(Health, EachCodeBelongsToOneRule) {
  std::set<std::string_view> codes;
  for (const health::HealthRule& rule : health::all_rules()) {
    EXPECT_FALSE(names_in(rule.reports).empty());
    for (const std::string_view code : names_in(rule.reports)) {
      EXPECT_TRUE(codes.insert(code).second) << code;
    }
  }
}

TEST(Health, HealthyCardHasNoFinding) {
  const Snapshot host = with([](Device& d) {
    d.pcie_generation = std::uint64_t{1};  // idle: lowered to save power
    d.pcie_generation_max = std::uint64_t{5};
    d.pcie_width = d.pcie_width_max = std::uint64_t{16};
    d.utilization_gpu = 0_percent;
    d.throttle_reasons = ClockReasons(1);  // idle
    d.details.set(Detail::recovery_action, Reading<std::string>("None"));
    d.details.set(Detail::remapped_rows_pending, Reading<bool>(false));
  });
  EXPECT_THAT(codes(host), IsEmpty());
  EXPECT_EQ(state(host), HealthState::ok);
}

TEST(Health, ANarrowLinkWithoutLoadIsButANotice) {
  for (const Reading<Percent>& load : {Reading<Percent>(0_percent), Reading<Percent>(20_percent),
                                       Reading<Percent>(Absent::unsupported)}) {
    Snapshot host = with([](Device& d) {
      d.pcie_width = std::uint64_t{8};
      d.pcie_width_max = std::uint64_t{16};
    });
    host.devices[0].utilization_gpu = load;
    EXPECT_THAT(codes(host), ElementsAre("pcie_width"));
    EXPECT_EQ(state(host), HealthState::notice);
  }
}

// GB200: its errors in SRAM are not told, so that there is no total of all.
TEST(Health, ErrorsOfAPartAreToldWhereThereIsNoTotal) {
  const Snapshot host = with([](Device& d) {
    d.ecc_corrected = d.ecc_uncorrected = Absent::unsupported;
    d.details.set(Detail::ecc_uncorrected_volatile_dram, Reading<std::uint64_t>(5));
    d.details.set(Detail::ecc_corrected_volatile_dram, Reading<std::uint64_t>(0));
  });
  const DeviceHealth health = health_in(host);
  ASSERT_THAT(codes(host), ElementsAre("ecc_uncorrected"));
  EXPECT_EQ(health.findings[0].evidence.front().english(),
            "at least 5 memory errors were not corrected since the driver loaded");
  EXPECT_EQ(health.state, HealthState::degraded);
}

TEST(Health, OneErrorIsOne) {
  const auto evidence = [](void (*change)(Device&)) {
    const Snapshot host = with(change);
    return health_in(host).findings.at(0).evidence.front().english();
  };
  EXPECT_EQ(evidence([](Device& d) { d.ecc_uncorrected = std::uint64_t{1}; }),
            "one memory error was not corrected since the driver loaded");
  EXPECT_EQ(evidence([](Device& d) { d.ecc_corrected = std::uint64_t{1}; }),
            "one memory error was corrected since the driver loaded");
  EXPECT_EQ(evidence([](Device& d) {
              d.details.set(Detail::remapped_rows_uncorrectable, Reading<std::uint64_t>(1));
            }),
            "one row of memory was replaced after an error");
  EXPECT_EQ(evidence([](Device& d) {
              d.details.set(Detail::retired_pages_double_bit, Reading<std::uint64_t>(1));
            }),
            "one page of memory was retired after a double bit error");
}

TEST(Health, ErrorsInSramAreCountedOnceHoweverOftenTheyAreTold) {
  const Snapshot host = with([](Device& d) {
    d.ecc_uncorrected = Absent::failed;
    for (const auto& [place, count] : {std::pair(Detail::ecc_uncorrected_volatile_sram, 3),
                                       {Detail::ecc_sram_parity_volatile, 1},
                                       {Detail::ecc_sram_secded_volatile, 2},
                                       {Detail::ecc_uncorrected_volatile_l2_cache, 3},
                                       {Detail::ecc_uncorrected_volatile_dram, 4}}) {
      d.details.set(place, Reading<std::uint64_t>(static_cast<std::uint64_t>(count)));
    }
  });
  EXPECT_THAT(health_in(host).findings.at(0).evidence.front().english(),
              HasSubstr("at least 7 memory errors"));
}

struct Case {
  const char* code;
  HealthState state;
  void (*change)(Device&);
};
class Rule : public testing::TestWithParam<Case> {};
TEST_P(Rule, FindsItsFault) {
  const Snapshot host = with(GetParam().change);
  EXPECT_THAT(codes(host), ElementsAre(GetParam().code));
  EXPECT_EQ(state(host), GetParam().state);
}
template <Detail D>
void set_flag(Device& device) {
  device.details.set(D, Reading<bool>(true));
}
template <Detail D, std::uint64_t seconds>
void lost_time(Device& device) {
  device.details.set(D, Reading<Microseconds>(Microseconds(seconds * 1'000'000)));
}
void set_links(Device& device, std::uint64_t all, std::uint64_t active) {
  device.details.set(Detail::nvlink_count, Reading<std::uint64_t>(all));
  device.details.set(Detail::nvlink_active, Reading<std::uint64_t>(active));
}
INSTANTIATE_TEST_SUITE_P(
    Every, Rule,
    testing::Values(
        Case{"lost", HealthState::failed, [](Device& d) { d.lost = true; }},
        Case{"unusable", HealthState::failed,
             [](Device& d) { d.unusable_because = WhyUnusable("no driver"); }},
        Case{"pages_retired", HealthState::degraded,
             [](Device& d) {
               d.details.set(Detail::retired_pages_double_bit, Reading<std::uint64_t>(60));
             }},
        Case{"recovery_action", HealthState::failed,
             [](Device& d) {
               d.details.set(Detail::recovery_action, Reading<std::string>("Reset"));
             }},
        Case{"ecc_uncorrected", HealthState::degraded,
             [](Device& d) { d.ecc_uncorrected = std::uint64_t{2}; }},
        Case{"ecc_corrected", HealthState::notice,
             [](Device& d) { d.ecc_corrected = std::uint64_t{2}; }},
        Case{"sram_threshold", HealthState::degraded,
             set_flag<Detail::ecc_sram_threshold_exceeded>},
        Case{"row_remap_failed", HealthState::failed, set_flag<Detail::remapped_rows_failed>},
        Case{"row_remap_pending", HealthState::degraded, set_flag<Detail::remapped_rows_pending>},
        Case{"page_retirement_pending", HealthState::degraded,
             set_flag<Detail::retired_pages_pending>},
        Case{"unrepairable_memory", HealthState::failed, set_flag<Detail::unrepairable_memory>},
        Case{"repair_pending", HealthState::degraded, set_flag<Detail::channel_repair_pending>},
        Case{"memory_of_nobody", HealthState::notice, [](Device& d) { d.memory_used = 30_GiB; }},
        Case{"hardware_thermal_slowdown", HealthState::degraded,
             [](Device& d) { d.throttle_reasons = ClockReasons(0x48); }},
        Case{"hardware_slowdown", HealthState::degraded,
             [](Device& d) { d.throttle_reasons = ClockReasons(0x08); }},
        Case{"software_thermal_slowdown", HealthState::notice,
             [](Device& d) { d.throttle_reasons = ClockReasons(0x20); }},
        Case{"power_brake", HealthState::degraded,
             [](Device& d) { d.throttle_reasons = ClockReasons(0x88); }},
        Case{"pcie_width", HealthState::degraded,
             [](Device& d) {
               d.pcie_width = std::uint64_t{8};
               d.pcie_width_max = std::uint64_t{16};
               d.utilization_gpu = 90_percent;
             }},
        Case{"pcie_generation", HealthState::degraded,
             [](Device& d) {
               d.pcie_generation = std::uint64_t{3};
               d.pcie_generation_max = std::uint64_t{5};
               d.utilization_gpu = 90_percent;
             }},
        Case{"pcie_replays", HealthState::notice,
             [](Device& d) { d.pcie_replays = std::uint64_t{5000}; }},
        Case{"time_lost_to_heat", HealthState::notice,
             lost_time<Detail::throttled_hardware_thermal, 61>},
        Case{"time_lost_to_power_brake", HealthState::notice,
             lost_time<Detail::throttled_power_brake, 61>},
        Case{"time_lost_to_heat_control", HealthState::notice,
             lost_time<Detail::throttled_software_thermal, 601>},
        Case{"time_lost_to_power_limit", HealthState::notice,
             lost_time<Detail::throttled_power_cap, 3601>},
        Case{"nvlink_partly_used", HealthState::notice, [](Device& d) { set_links(d, 12, 4); }},
        Case{"nvlink_down", HealthState::degraded,
             [](Device& d) {
               set_links(d, 18, 17);
               d.details.set(Detail::fabric_state, Reading<std::string>("Completed"));
             }},
        Case{"nvlink_errors", HealthState::notice,
             [](Device& d) {
               d.details.set(Detail::nvlink_replays, Reading<std::uint64_t>(4000));
               d.details.set(Detail::window_nvlink_replays, Reading<std::uint64_t>(3));
             }},
        Case{"nvlink_errors_now", HealthState::degraded,
             [](Device& d) {
               d.details.set(Detail::nvlink_recoveries, Reading<std::uint64_t>(5));
               d.details.set(Detail::window_nvlink_recoveries, Reading<std::uint64_t>(1));
             }},
        Case{"fabric_not_ready", HealthState::degraded,
             [](Device& d) {
               d.details.set(Detail::fabric_state, Reading<std::string>("In Progress"));
             }},
        Case{"fabric_health", HealthState::degraded,
             [](Device& d) {
               d.details.set(Detail::fabric_health_summary, Reading<std::string>("Unhealthy"));
             }}),
    [](const auto& test) { return std::string(test.param.code); });

TEST(Repairs, APartThatComputesIsAskedAboutBesideTheMemory) {
  const Snapshot host = with(set_flag<Detail::tpc_repair_pending>);
  EXPECT_EQ(state(host), HealthState::degraded);
  const Finding found = health_in(host).findings.at(0);
  EXPECT_EQ(found.rule, "repair_pending");
  EXPECT_EQ(found.evidence.front().english(),
            "a processing cluster waits for its repair at the next reset");
}

TEST(LostTime, SaysHowMuchAndHowMuchOfItLately) {
  const Snapshot host = with([](Device& d) {
    lost_time<Detail::throttled_hardware_thermal, 723>(d);
    lost_time<Detail::window_throttled_hardware_thermal, 4>(d);
  });
  EXPECT_EQ(health_in(host).findings.at(0).evidence.front().english(),
            "the hardware slowed it down for its heat for 12m03s since the driver loaded: 4s of "
            "that since the look before");
}
TEST(LostTime, LittleOfItAndThatOfAGroupIsNotWorthSaying) {
  EXPECT_THAT(codes(with(lost_time<Detail::throttled_hardware_thermal, 59>)), IsEmpty());
  EXPECT_THAT(codes(with(lost_time<Detail::throttled_power_cap, 3599>)), IsEmpty());
  EXPECT_THAT(codes(with(lost_time<Detail::throttled_sync_boost, 99'999>)), IsEmpty());
}

Snapshot two_cards(std::uint64_t active, std::uint64_t of_the_other) {
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .with([&](Device& d) { set_links(d, 12, active); })
      .gpu("B", 80_GiB)
      .with([&](Device& d) { set_links(d, 12, of_the_other); })
      .build();
}
TEST(NvLinks, FewerThanAnotherCardOfTheKindHasAreDown) {
  EXPECT_THAT(codes(two_cards(11, 12)), ElementsAre("nvlink_down"));
  EXPECT_EQ(state(two_cards(11, 12)), HealthState::degraded);
  Snapshot other_model = two_cards(11, 12);
  other_model.devices[1].name = std::string("NVIDIA Another GPU");
  EXPECT_THAT(codes(other_model), ElementsAre("nvlink_partly_used"));
}
TEST(NvLinks, ACardWithoutABridgeBesideBridgedOnesIsANotice) {
  EXPECT_THAT(codes(two_cards(0, 12)), ElementsAre("nvlink_unused"));
  EXPECT_EQ(state(two_cards(0, 12)), HealthState::notice);
  EXPECT_THAT(codes(two_cards(0, 0)), IsEmpty()) << "no bridge is mounted in this machine";
  EXPECT_THAT(codes(two_cards(12, 4)), IsEmpty());
}
TEST(NvLinks, OfADividedCardMayBeSwitchedOff) {
  Snapshot host = two_cards(0, 12);
  host.devices[0].mig_mode = true;
  EXPECT_THAT(codes(host), IsEmpty());
}
TEST(NvLinks, ManyErrorsSinceTheLookBeforeAreSaidAsThat) {
  const Snapshot host = with([](Device& d) {
    d.details.set(Detail::nvlink_data_errors, Reading<std::uint64_t>(5000));
    d.details.set(Detail::window_nvlink_data_errors, Reading<std::uint64_t>(250));
  });
  const Finding finding = health_in(host).findings.at(0);
  EXPECT_EQ(finding.evidence.front().english(),
            "250 checksum errors on its NVLinks since the look before");
  EXPECT_EQ(finding.severity, Severity::warning);
}

TEST(NvLinks, FiftyErrorsASecondAreWrongNowAlsoWithinOneSecond) {
  Snapshot host = with([](Device& d) {
    d.details.set(Detail::nvlink_replays, Reading<std::uint64_t>(5000));
    d.details.set(Detail::window_nvlink_replays, Reading<std::uint64_t>(50));
    d.details.set(Detail::window_span, Reading<Milliseconds>(Milliseconds(1000)));
  });
  const Finding finding = health_in(host).findings.at(0);
  EXPECT_EQ(finding.severity, Severity::warning);
  EXPECT_EQ(finding.evidence.front().english(),
            "50 NVLink packets had to be sent again since the look before: 50 a second");
  host.devices[0].details.set(Detail::window_span, Reading<Milliseconds>(Milliseconds(60'000)));
  EXPECT_EQ(state(host), HealthState::notice) << "less than one a second";
}

TEST(Health, ACardAtItsOwnSlowdownLimitIsTooHot) {
  Snapshot host = with([](Device& d) {
    d.temperature = Celsius(92);
    d.temperature_slowdown = Celsius(87);
  });
  const Finding finding = health_in(host).findings.at(0);
  EXPECT_EQ(finding.rule, "too_hot");
  EXPECT_EQ(finding.evidence.front().english(),
            "it is at 92 °C and slows itself down from 87 °C on");
  EXPECT_EQ(state(host), HealthState::degraded);
  host.devices[0].temperature = Celsius(86);
  EXPECT_THAT(codes(host), IsEmpty());
  host.devices[0].temperature = Celsius(92);
  host.devices[0].temperature_slowdown = Absent::unsupported;
  EXPECT_THAT(codes(host), IsEmpty()) << "without a limit of its own nothing is said";
}

TEST(Health, ACardThatCountsItsMarginIsTooHotWhereThatIsUsedUp) {
  const Snapshot host = with([](Device& d) {
    d.details.set(Detail::temperature_limit_margin, Reading<Celsius>(Celsius(-4)));
    d.details.set(Detail::temperature_slowdown_margin, Reading<Celsius>(Celsius(-2)));
  });
  const Finding finding = health_in(host).findings.at(0);
  EXPECT_EQ(finding.evidence.front().english(), "it is 2 °C past where it slows itself down");
}

TEST(Health, WhatWasTakenAwayOnPurposeIsNoFault) {
  for (const Unusable why :
       {Unusable::left_out, Unusable::kept_from_us, Unusable::given_to_machine}) {
    Snapshot host = with([](Device&) {});
    host.devices[0].unusable_because = why;
    EXPECT_EQ(state(host), HealthState::notice) << WhyUnusable(why).english();
    EXPECT_THAT(failed_devices(host), IsEmpty()) << WhyUnusable(why).english();
  }
}

TEST(Health, ACardThatTheDriverListsNoLongerIsCalledThat) {
  Snapshot host = with([](Device& d) { d.lost = true; });
  host.devices[0].unusable_because = Unusable::unlisted;
  EXPECT_EQ(health_in(host).findings.at(0).evidence.front().english(),
            "the driver lists it no longer");
  EXPECT_EQ(failed_devices(host).at(0).kind, FaultKind::lost);
}

std::string steps_in(const Snapshot& host) {
  std::string text;
  for (const Finding& finding : health_in(host).findings) {
    for (const Finding::Step& step : finding.steps) text += step.what.english() + "\n";
  }
  return text;
}

TEST(Health, NvidiasToolIsNoAdviceForAnothersCard) {
  for (const auto change : {+[](Device& d) { d.unusable_because = Unusable::silent; },
                            +[](Device& d) { d.ecc_uncorrected = std::uint64_t{2}; }}) {
    Snapshot host = with(change);
    EXPECT_THAT(steps_in(host), HasSubstr("nvidia-smi"));
    for (const DeviceKindFacts& facts : device_kinds()) {
      if (!facts.is_supported || facts.runtime == Runtime::cuda) continue;
      host.devices[0].kind = facts.kind;
      EXPECT_THAT(steps_in(host), Not(HasSubstr("nvidia"))) << facts.name;
      EXPECT_NE(steps_in(host), "") << facts.name;
    }
  }
  Snapshot host = with([](Device& d) { d.unusable_because = Unusable::silent; });
  host.devices[0].kind = DeviceKind::amd_gpu;
  EXPECT_THAT(steps_in(host), HasSubstr("look for \"amdgpu\" in the kernel log"));
}

XidEvent xid_at(std::uint64_t code, std::int64_t ms, const char* process = nullptr) {
  XidEvent event{.pci_address = "00000000:3b:00.0", .code = code, .at = {ms}};
  if (process != nullptr) event.process = std::string(process);
  return event;
}

TEST(Health, XidsAreCountedPerCodeAndCard) {
  Snapshot host = with([](Device&) {});
  XidEvent fault{.pci_address = "00000000:3b:00.0",
                 .code = 31,
                 .at = {1000},
                 .pid = std::uint64_t{7},
                 .process = std::string("python"),
                 .text = {}};
  XidEvent bus = fault;
  bus.code = 79;
  XidEvent other = fault;
  other.pci_address = "00000000:5e:00.0";
  host.xids = std::vector<XidEvent>{fault, fault, bus, other};
  const DeviceHealth health = health_in(host);
  ASSERT_EQ(health.findings.size(), 2U);
  EXPECT_EQ(health.findings[0].rule, "xid_79");  // worst first
  EXPECT_EQ(health.findings[0].severity, Severity::warning);
  EXPECT_EQ(health.findings[1].severity, Severity::hint);
  EXPECT_THAT(health.findings[1].evidence.front().english(), HasSubstr("XID 31, 2 times"));
  EXPECT_THAT(health.findings[1].evidence.front().english(), HasSubstr("last by python (pid 7)"));
}

TEST(Health, AnErrorThatHappenedOnceIsToldAsThat) {
  Snapshot host = with([](Device&) {});
  host.xids = std::vector<XidEvent>{xid_at(31, 5000)};
  EXPECT_EQ(health_in(host).findings.at(0).evidence.front().english(),
            "XID 31, once: the job touched memory that is not its own");
}

TEST(Health, AnErrorBeforeTheDriverWasLoadedIsHistory) {
  Snapshot host = with([](Device&) {});
  host.xids = std::vector<XidEvent>{xid_at(62, 10'000)};
  EXPECT_EQ(state(host), HealthState::degraded) << "the log does not tell of a load";
  host.driver_loaded = WallTime{60'000};
  const Finding old = health_in(host).findings.at(0);
  EXPECT_EQ(old.severity, Severity::hint);
  EXPECT_EQ(old.rule, "xid_62");
  EXPECT_EQ(old.evidence.front().english(),
            "XID 62, once, before the driver was loaded: its internal controller has halted");
  EXPECT_TRUE(old.steps.empty());
  EXPECT_TRUE(old.occurrences.value().before_driver_load);
  EXPECT_EQ(old.occurrences->times, 1U);

  host.xids = std::vector<XidEvent>{xid_at(62, 10'000), xid_at(62, 11'000)};
  EXPECT_THAT(health_in(host).findings.at(0).evidence.front().english(),
              HasSubstr("XID 62, 2 times, before the driver was loaded"));
}

TEST(Health, AnErrorThatCameBackAfterTheDriverWasLoadedDegrades) {
  Snapshot host = with([](Device&) {});
  host.driver_loaded = WallTime{60'000};
  host.xids =
      std::vector<XidEvent>{xid_at(62, 10'000), xid_at(62, 70'000, "new"), xid_at(62, 11'000)};
  const Finding now = health_in(host).findings.at(0);
  EXPECT_EQ(now.severity, Severity::warning);
  EXPECT_EQ(now.evidence.front().english(),
            "XID 62, once: its internal controller has halted; last by new (pid ?); 2 more before "
            "the driver was loaded");
  EXPECT_EQ(now.occurrences.value().times, 1U);
  EXPECT_EQ(now.occurrences->last, WallTime{70'000});
  EXPECT_FALSE(now.occurrences->before_driver_load);
}

TEST(Health, AnErrorOfTheVeryTimeOfTheLoadIsNotHistory) {
  Snapshot host = with([](Device&) {});
  host.driver_loaded = WallTime{60'000};
  host.xids = std::vector<XidEvent>{xid_at(143, 58'500)};
  EXPECT_EQ(state(host), HealthState::degraded) << "the log's times are whole seconds off";
}

TEST(Throttling, MoreReasonsNeverMakeACardHealthier) {
  const auto state_with = [](std::uint64_t mask) {
    Snapshot host = with([](Device&) {});
    host.devices[0].throttle_reasons = ClockReasons(mask);
    return state(host);
  };
  constexpr unsigned bits = 10;  // NVML has 0x1 to 0x100
  for (std::uint64_t mask = 0; mask < (1U << bits); ++mask) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      ASSERT_GE(state_with(mask | (1U << bit)), state_with(mask)) << mask << " and bit " << bit;
    }
  }
}

TEST_P(Rule, ThatFailsADeviceKeepsJobsOffIt) {
  const Snapshot host = with(GetParam().change);
  const std::vector<DeviceFault> failed = failed_devices(host);
  if (GetParam().state != HealthState::failed) {
    EXPECT_THAT(failed, IsEmpty());
    return;
  }
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].device, DeviceId("A"));
  EXPECT_EQ(failed[0].code, GetParam().code);
  EXPECT_EQ(failed[0].kind == FaultKind::lost, host.devices[0].lost);
  EXPECT_EQ(faults_of(host), failed);
}

TEST(MemoryOfNobody, OnAnInstanceIsAFindingOfItsCard) {
  Snapshot host = with([](Device& d) { d.mig_mode = true; });
  Device instance = host.devices[0];
  instance.id = DeviceId("MIG-1");
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = DeviceId("A");
  instance.partition = Partition{2, 0};
  instance.memory_used = 30_GiB;
  host.devices.push_back(instance);
  EXPECT_THAT(codes(host), ElementsAre("memory_of_nobody"));
  EXPECT_THAT(health_in(host).findings.at(0).evidence.front().english(),
              HasSubstr("of MIG instance 2/0 are held by no process"));
  host.devices[1].memory_used = 1_MiB;
  EXPECT_THAT(codes(host), IsEmpty());
}

TEST(Faults, AMigInstanceIsAsWellAsItsCard) {
  Snapshot host = with(set_flag<Detail::remapped_rows_failed>);
  Device instance;
  instance.id = DeviceId("MIG-1");
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = DeviceId("A");
  host.devices.push_back(instance);
  ASSERT_EQ(failed_devices(host).size(), 2U);
  EXPECT_EQ(failed_devices(host)[1].device, DeviceId("MIG-1"));
}

TEST(Faults, AnErrorOfTheJobsOwnMakingIsNotTheDevices) {
  Snapshot host = with([](Device&) {});
  XidEvent event{.pci_address = "00000000:3b:00.0", .code = 31, .pid = std::uint64_t{7}};
  XidEvent bus = event;
  bus.code = 79;
  bus.pid = Absent::unsupported;
  XidEvent other = bus;
  other.pci_address = "00000000:5e:00.0";
  host.xids = std::vector<XidEvent>{event, bus, other};
  const std::vector<DeviceFault> faults = faults_of(host);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].kind, FaultKind::job_error);
  EXPECT_EQ(faults[0].pid, 7U);
  EXPECT_EQ(faults[1], (DeviceFault{DeviceId("A"), FaultKind::error, "xid_79",
                                    Sentence("XID 79: it has fallen off the bus")}));
  EXPECT_THAT(failed_devices(host), IsEmpty());
}

TEST(Health, WhatCouldNotBeReadIsSaid) {
  Snapshot host = with([](Device& d) { d.ecc_uncorrected = Absent::no_permission; });
  host.xids = Absent::no_permission;
  EXPECT_THAT(health_in(host).not_examined, ElementsAre("memory errors: no permission to read it",
                                                        "kernel log: no permission to read it"));
}

TEST(Health, RuleWhoseReadingFailedHasNotFoundNothing) {
  const Snapshot host = with([](Device& d) {
    d.details.put(Detail::remapped_rows_failed, Absent::failed);
    d.details.put(Detail::unrepairable_memory, Absent::unsupported);
    d.mig_mode = Absent::failed;
    d.memory_used = 30_GiB;
  });
  const DeviceHealth health = health_in(host);
  EXPECT_THAT(health.findings, IsEmpty()) << "the memory may be an instance's";
  EXPECT_THAT(health.not_examined, ElementsAre("row remapping: reading it failed",
                                               "division by MIG: reading it failed"));
}

TEST(Health, ADeviceThatCouldNotBeJudgedIsNotWell) {
  const auto unread = [](void (*put)(Device&, Absent), Absent why) {
    Snapshot host = with([](Device&) {});
    put(host.devices[0], why);
    return state(host);
  };
  const auto each = {
      +[](Device& d, Absent why) { d.details.put(Detail::recovery_action, why); },
      +[](Device& d, Absent why) { d.details.put(Detail::remapped_rows_failed, why); },
      +[](Device& d, Absent why) { d.details.put(Detail::unrepairable_memory, why); },
      +[](Device& d, Absent why) { d.ecc_uncorrected = why; }};
  for (const auto put : each) {
    EXPECT_EQ(unread(put, Absent::failed), HealthState::unknown);
    for (const Absent fine : {Absent::unsupported, Absent::no_permission, Absent::not_sampled}) {
      EXPECT_EQ(unread(put, fine), HealthState::ok) << name_of(fine);
    }
  }
}

TEST(Health, WhatWasFoundIsWorseThanWhatCouldNotBeRead) {
  Snapshot host = with([](Device& d) { d.details.put(Detail::recovery_action, Absent::failed); });
  set_flag<Detail::remapped_rows_pending>(host.devices[0]);
  EXPECT_EQ(state(host), HealthState::degraded);
  set_flag<Detail::remapped_rows_failed>(host.devices[0]);
  EXPECT_EQ(state(host), HealthState::failed);
}

TEST(Health, ADeviceTakenAwayOnPurposeIsNotUnknown) {
  const Snapshot host = with([](Device& d) {
    d.unusable_because = Unusable::given_to_machine;
    d.ecc_uncorrected = Absent::failed;
  });
  EXPECT_EQ(state(host), HealthState::notice);
}

TEST(Health, NotBeingAllowedToReadTheKernelLogIsWell) {
  Snapshot host = with([](Device&) {});
  host.xids = Absent::no_permission;
  EXPECT_EQ(state(host), HealthState::ok);
}

TEST(Health, UnsupportedKindsAndInstancesAreLeftOut) {
  Snapshot host = with([](Device& d) { d.kind = DeviceKind::other; });
  EXPECT_THAT(health_of(host), IsEmpty());
  EXPECT_EQ(worst_of(health_of(host)), std::nullopt);
}

TEST(XidFacts, EveryCodeSaysWhatToDoAndUnknownOnesSaySo) {
  EXPECT_EQ(xid_facts(79).action, XidAction::restart_machine);
  EXPECT_EQ(xid_facts(31).action, XidAction::restart_app);
  EXPECT_EQ(xid_facts(95).action, XidAction::reset);
  EXPECT_EQ(xid_facts(54).action, XidAction::check_power);
  EXPECT_EQ(xid_facts(74).action, XidAction::check_link);
  EXPECT_EQ(xid_facts(999999).action, XidAction::support);
  EXPECT_THAT(std::string(xid_facts(999999).meaning), HasSubstr("not in the catalogue"));
}

}  // namespace
}  // namespace berth
