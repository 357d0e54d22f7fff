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

}  // namespace
}  // namespace berth::doctor
