#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorGovernorPowersave, WithADriverThatThenNeverGoesFaster) {
  Examined host = healthy();
  host.world.limits->frequency_driver = std::string("acpi-cpufreq");
  EXPECT_EQ(told(host), "hint governor_powersave: governor powersave of driver acpi-cpufreq");
  host.world.limits->governor = std::string("schedutil");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorGovernorPowersave, PstateDriversChooseSpeedsThemselves) {
  Examined host = healthy();
  for (const char* driver : {"intel_pstate", "amd-pstate-epp"}) {
    host.world.limits->frequency_driver = std::string(driver);
    EXPECT_THAT(rules_of(host), IsEmpty()) << driver;
  }
}

}  // namespace
}  // namespace berth::doctor
