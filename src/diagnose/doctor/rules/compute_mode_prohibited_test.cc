#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace berth::doctor
