#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorContainerWithoutDevices, TheHostHasADriverAndTheContainerNoFiles) {
  Examined host = without_driver(library_is_silent, std::string("nvidia"));
  host.world.kernel->module_version = std::string("580.65.06");
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_EQ(told(host),
            "error container_without_devices: this is a container (docker 1a2b3c); the host has "
            "the nvidia driver 580.65.06 loaded and there is no /dev/nvidiactl here");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--gpus all"));
  host.world.device_files = healthy().world.device_files;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it was started with them";
}

TEST(DoctorContainerWithoutDevices, OneWhoseDriverAnswersHasThem) {
  Examined host = healthy();
  host.world.container = std::string("docker 1a2b3c");
  host.world.device_files.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
