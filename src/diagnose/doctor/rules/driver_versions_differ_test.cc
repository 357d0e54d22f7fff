#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorDriverVersionsDiffer, LibraryAndModuleOfDifferentVersions) {
  Examined host = without_driver(library_is_silent, std::string("nvidia"));
  host.world.kernel->module_version = std::string("575.51.03");
  host.world.device_files = healthy().world.device_files;
  host.world.libraries->found.push_back(
      {"libnvidia-ml", "/usr/lib64/libnvidia-ml.so.580.65.06", "580.65.06", "loader"});
  host.snapshot.problems.push_back({.source = "nvml", .code = "version_mismatch", .message = "18"});
  EXPECT_EQ(told(host),
            "error driver_versions_differ: 18; the loaded module is 575.51.03; the library is "
            "/usr/lib64/libnvidia-ml.so.580.65.06");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("sudo reboot"));
}

TEST(DoctorDriverVersionsDiffer, ModuleAndLibraryOfOneVersionAnswer) {
  Examined host = healthy();
  host.world.libraries->found.push_back(
      {"libnvidia-ml", "/usr/lib64/libnvidia-ml.so.580.65.06", "580.65.06", "loader"});
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
