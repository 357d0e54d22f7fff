#include "health/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "health/faults.h"
#include "health/xid.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Snapshot with(void (*change)(Device&)) {
  return SnapshotBuilder()
      .gpu("A", 80_GiB)
      .with([&](Device& device) {
        device.pci_address = std::string("00000000:3b:00.0");
        device.ecc_corrected = device.ecc_uncorrected = std::uint64_t{0};
        device.throttle_reasons = std::uint64_t{0};
        device.temperature = Celsius(40);
        change(device);
      })
      .build();
}
std::vector<std::string> codes(const Snapshot& host) {
  std::vector<std::string> found;
  for (const HealthFinding& finding : health_of(host.devices[0], host).findings) {
    found.push_back(finding.code);
  }
  return found;
}
HealthState state(const Snapshot& host) { return health_of(host.devices[0], host).state; }

TEST(Health, HealthyCardHasNoFinding) {
  const Snapshot host = with([](Device& d) {
    d.pcie_generation = std::uint64_t{1};  // idle: lowered to save power
    d.pcie_generation_max = std::uint64_t{5};
    d.pcie_width = d.pcie_width_max = std::uint64_t{16};
    d.utilization_gpu = 0_percent;
    d.throttle_reasons = std::uint64_t{1};  // idle
    d.details.set(Detail::recovery_action, Reading<std::string>("None"));
    d.details.set(Detail::remapped_rows_pending, Reading<bool>(false));
  });
  EXPECT_THAT(codes(host), IsEmpty());
  EXPECT_EQ(state(host), HealthState::ok);
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
INSTANTIATE_TEST_SUITE_P(
    Every, Rule,
    testing::Values(
        Case{"lost", HealthState::failed, [](Device& d) { d.lost = true; }},
        Case{"unusable", HealthState::failed, [](Device& d) { d.unusable_because = "no driver"; }},
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
             [](Device& d) { d.throttle_reasons = std::uint64_t{0x48}; }},
        Case{"hardware_slowdown", HealthState::degraded,
             [](Device& d) { d.throttle_reasons = std::uint64_t{0x08}; }},
        Case{"power_brake", HealthState::degraded,
             [](Device& d) { d.throttle_reasons = std::uint64_t{0x88}; }},
        Case{"pcie_width", HealthState::degraded,
             [](Device& d) {
               d.pcie_width = std::uint64_t{8};
               d.pcie_width_max = std::uint64_t{16};
             }},
        Case{"pcie_generation", HealthState::degraded,
             [](Device& d) {
               d.pcie_generation = std::uint64_t{3};
               d.pcie_generation_max = std::uint64_t{5};
               d.utilization_gpu = 90_percent;
             }},
        Case{"pcie_replays", HealthState::notice,
             [](Device& d) { d.pcie_replays = std::uint64_t{5000}; }},
        Case{"fabric_health", HealthState::degraded,
             [](Device& d) {
               d.details.set(Detail::fabric_health_summary, Reading<std::string>("Unhealthy"));
             }}),
    [](const auto& test) { return std::string(test.param.code); });

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
  const DeviceHealth health = health_of(host.devices[0], host);
  ASSERT_EQ(health.findings.size(), 2U);
  EXPECT_EQ(health.findings[0].code, "xid_79");  // worst first
  EXPECT_EQ(health.findings[0].state, HealthState::degraded);
  EXPECT_EQ(health.findings[1].state, HealthState::notice);
  EXPECT_THAT(health.findings[1].evidence, HasSubstr("XID 31, 2 times"));
  EXPECT_THAT(health.findings[1].evidence, HasSubstr("last by python (pid 7)"));
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
                                    "XID 79: it has fallen off the bus"}));
  EXPECT_THAT(failed_devices(host), IsEmpty());
}

TEST(Health, WhatCouldNotBeReadIsSaid) {
  Snapshot host = with([](Device& d) { d.ecc_uncorrected = Absent::no_permission; });
  host.xids = Absent::no_permission;
  EXPECT_THAT(health_of(host.devices[0], host).not_examined,
              ElementsAre("memory errors: no permission", "kernel log: no permission"));
}

TEST(Health, RuleWhoseReadingFailedHasNotFoundNothing) {
  const Snapshot host = with([](Device& d) {
    d.details.put(Detail::remapped_rows_failed, Absent::failed);
    d.details.put(Detail::unrepairable_memory, Absent::unsupported);
    d.mig_mode = Absent::failed;
    d.memory_used = 30_GiB;
  });
  const DeviceHealth health = health_of(host.devices[0], host);
  EXPECT_THAT(health.findings, IsEmpty()) << "the memory may be an instance's";
  EXPECT_THAT(health.not_examined, ElementsAre("row remapping: failed", "division by MIG: failed"));
}

TEST(Health, UnsupportedKindsAndInstancesAreLeftOut) {
  Snapshot host = with([](Device& d) { d.kind = DeviceKind::amd_gpu; });
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
