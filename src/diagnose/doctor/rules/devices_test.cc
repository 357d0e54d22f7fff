#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorMigWithoutInstances, MigOnWithoutAnInstance) {
  Examined host = healthy();
  host.snapshot.devices[0].mig_mode = true;
  EXPECT_EQ(told(host),
            "warning mig_without_instances: MIG mode is enabled and no instance is listed");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("sudo nvidia-smi mig -i 0 -cgi 0 -C"));
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = host.snapshot.devices[0].id;
  host.snapshot.devices.push_back(instance);
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMigInstanceHollow, InstanceWithoutAComputeInstance) {
  Examined host = healthy();
  host.snapshot.devices[1].mig_mode = true;
  host.facts.kernel->hollow_instances = {{.minor_number = 1, .gpu_instance = 2}};
  EXPECT_EQ(told(host), "warning mig_instance_hollow: GPU instance 2 holds no compute instance");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("mig -i 1 -gi 2 -cci"));
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = host.snapshot.devices[1].id;
  instance.partition = Partition{.gpu_instance = 2};
  host.snapshot.devices.push_back(instance);
  EXPECT_THAT(rules_of(host), IsEmpty()) << "NVML lists a device in it";
  host.snapshot.devices.back().partition = Partition{.gpu_instance = 1};
  EXPECT_EQ(only(host).rule, "mig_instance_hollow");
  host.facts.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a container is shown a part";
}

TEST(DoctorMigModePending, ModeThatWaitsForAReset) {
  Examined host = healthy();
  Device& card = host.snapshot.devices[0];
  card.mig_mode = false;
  card.details.set(Detail::mig_mode_pending, Reading<bool>(true));
  EXPECT_EQ(told(host),
            "warning mig_mode_pending: MIG mode is off now, and on after the next reset");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--gpu-reset -i 0"));
  card.details.set(Detail::mig_mode_pending, Reading<bool>(false));
  EXPECT_THAT(rules_of(host), IsEmpty());
  card.details.set(Detail::mig_mode_pending, Reading<bool>(Absent::failed));
  EXPECT_THAT(rules_of(host), IsEmpty()) << "what is not known is no finding";
}

TEST(DoctorMigModePending, LeavingMigIsToldTheOtherWayRound) {
  Examined host = healthy();
  host.snapshot.devices[0].mig_mode = true;
  host.snapshot.devices[0].details.set(Detail::mig_mode_pending, Reading<bool>(false));
  const Finding found = named("mig_mode_pending", host);
  EXPECT_EQ(told(found),
            "warning mig_mode_pending: MIG mode is on now, and off after the next reset");
  EXPECT_THAT(commands_of(found), HasSubstr("sudo nvidia-smi -i 0 -mig 1"));
}

TEST(DoctorComputeModeProhibited, ComputingIsForbidden) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Prohibited");
  const Finding found = named("compute_mode_prohibited", host);
  EXPECT_EQ(told(found), "warning compute_mode_prohibited: its compute mode is Prohibited");
  EXPECT_THAT(commands_of(found), HasSubstr("nvidia-smi -i 0 -c 0"));
}

TEST(DoctorComputeModeProhibited, DefaultModeIsWell) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Default");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorComputeModeExclusive, SomebodyIsOnTheCard) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Exclusive_Process");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody is on it";
  host.snapshot.gpu_processes.push_back({.device = host.snapshot.devices[0].id, .pid = 7});
  EXPECT_EQ(told(named("compute_mode_exclusive", host)),
            "hint compute_mode_exclusive: its compute mode is Exclusive_Process");
}

}  // namespace
}  // namespace berth::doctor
