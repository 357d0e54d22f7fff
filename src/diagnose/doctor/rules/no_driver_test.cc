#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorNoDriver, CardWithoutADriver) {
  Examined host = without_driver(no_driver_has_it, Absent::unsupported);
  host.world.kernel->secure_boot = false;
  EXPECT_THAT(told(host), HasSubstr("error no_driver: no kernel driver is bound to "));
  EXPECT_THAT(told(host), HasSubstr("the nvidia module is built for the running kernel 6.1.0"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("modprobe nvidia"));
  host.world.kernel->module_installed = false;
  EXPECT_THAT(told(host), HasSubstr("there is no nvidia module for the running kernel 6.1.0"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("dkms"));
}

TEST(DoctorNoDriver, SecureBootIsSuspectedWhereTheModuleIsBuiltAndNotLoaded) {
  const Examined host = without_driver(no_driver_has_it, Absent::unsupported);
  EXPECT_THAT(told(host), HasSubstr("error secure_boot: Secure Boot is on (efivars)"));
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorNoDriver, CardGivenToAVirtualMachineIsNoFinding) {
  EXPECT_THAT(rules_of(without_driver(given_to_a_machine, std::string("vfio-pci"))), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
