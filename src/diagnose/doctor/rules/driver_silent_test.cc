#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

Examined silent_host() {
  Examined host = without_driver(library_is_silent, std::string("nvidia"));
  host.world.kernel->module_version = std::string("580.65.06");
  host.world.device_files = healthy().world.device_files;
  host.snapshot.problems.push_back(
      {.source = "nvml", .code = "driver_failed", .message = "nvmlInit failed"});
  return host;
}

TEST(DoctorDriverSilent, ModuleIsLoadedAndTheLibraryDoesNotAnswer) {
  Examined host = silent_host();
  EXPECT_EQ(told(host), "error driver_silent: nvmlInit failed");
  EXPECT_EQ(only(host).steps.at(0).what.english(), "read the kernel log");
  host.snapshot.problems[0].remedy = "load the module";
  EXPECT_EQ(only(host).steps.at(0).what.english(), "load the module");
}

TEST(DoctorDriverSilent, WithoutCardAndModuleNothingShouldAnswer) {
  Examined host = silent_host();
  host.snapshot.devices.clear();
  host.world.kernel->module_version = Absent::unsupported;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorDriverSilent, WhereOneCardAnswersTheLibraryDoes) {
  Examined host = healthy();
  host.snapshot.problems = silent_host().snapshot.problems;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
