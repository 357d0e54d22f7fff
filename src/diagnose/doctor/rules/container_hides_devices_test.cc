#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorContainerHidesDevices, IsToldToHaveNone) {
  Examined host = healthy();
  host.world.container = std::string("docker 1a2b3c");
  host.snapshot.devices.clear();
  for (const char* none : {"void", "none", ""}) {
    host.world.variables = {{"NVIDIA_VISIBLE_DEVICES", none}};
    EXPECT_EQ(
        told(named("container_hides_devices", host)),
        std::string("error container_hides_devices: NVIDIA_VISIBLE_DEVICES=\"") + none + "\"");
  }
  host.world.variables = {{"NVIDIA_VISIBLE_DEVICES", "all"}};
  EXPECT_THAT(rules_of(host), Not(Contains("container_hides_devices")));
}

TEST(DoctorContainerHidesDevices, WhereTheGpusAreThereAllTheSameNothingIsHidden) {
  Examined host = healthy();
  host.world.container = std::string("docker 1a2b3c");
  host.world.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
