#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

Examined host_with_files(std::vector<DeviceFile> files) {
  Examined host = without_driver(library_is_silent, std::string("nvidia"));
  host.world.kernel->module_version = std::string("580.65.06");
  host.world.device_files = std::move(files);
  return host;
}

TEST(DoctorDeviceFiles, MissingForbiddenOrBlocked) {
  EXPECT_EQ(told(host_with_files({})), "error device_files_missing: there is no /dev/nvidiactl");
  EXPECT_EQ(
      told(host_with_files({{"/dev/nvidiactl", FileAccess::forbidden, "crw-rw---- 0:44"}})),
      "error device_files_forbidden: /dev/nvidiactl is crw-rw---- 0:44 and you are neither its "
      "owner nor in its group");
  EXPECT_EQ(told(host_with_files({{"/dev/nvidiactl", FileAccess::blocked, "crw-rw-rw- 0:0"}})),
            "error devices_taken_away: opening /dev/nvidiactl (crw-rw-rw- 0:0): operation not "
            "permitted");
}

TEST(DoctorDeviceFiles, OnesThatOpenAreWell) {
  EXPECT_THAT(rules_of(host_with_files(healthy().world.device_files)), IsEmpty());
}

TEST(DoctorDeviceFiles, OneThatIsBlockedIsToldWhileTheDriverAnswers) {
  Examined host = healthy();
  host.world.device_files[1].access = FileAccess::forbidden;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another card's";
  host.world.device_files[1].access = FileAccess::blocked;
  EXPECT_EQ(only(host).rule, "devices_taken_away");
}

TEST(DoctorDeviceFiles, InAContainerTheyAreTheContainersMatterAndInWslThereAreNone) {
  Examined host = host_with_files({});
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), Not(Contains("device_files_missing")));
  host = host_with_files({});
  host.world.kernel->is_wsl = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
