#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorContainerWithoutCompute, StartedForNvidiaSmiAlone) {
  Examined host = healthy();
  host.world.container = std::string("docker 1a2b3c");
  host.world.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
  EXPECT_EQ(told(host),
            "error container_without_compute: NVIDIA_DRIVER_CAPABILITIES=\"utility\" lacks "
            "compute");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
}

TEST(DoctorContainerWithoutCompute, OneThatHasItOrIsNoContainer) {
  Examined host = healthy();
  host.world.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody reads it outside of a container";
  host.world.container = std::string("docker 1a2b3c");
  for (const char* well : {"all", "", "utility,compute", "video,all"}) {
    host.world.variables = {{"NVIDIA_DRIVER_CAPABILITIES", well}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << well;
  }
}

}  // namespace
}  // namespace berth::doctor
