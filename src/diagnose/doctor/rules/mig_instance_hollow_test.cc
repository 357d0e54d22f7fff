#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorMigInstanceHollow, InstanceWithoutAComputeInstance) {
  Examined host = healthy();
  host.snapshot.devices[1].mig_mode = true;
  host.world.kernel->hollow_instances = {{.minor_number = 1, .gpu_instance = 2}};
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
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a container is shown a part";
}

}  // namespace
}  // namespace berth::doctor
