#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorContainerToolkitMissingHere, WithoutToolkitAndCdiContainersGetNoGpu) {
  Examined host = healthy();
  host.world.container_tools->toolkit.clear();
  EXPECT_THAT(told(host), HasSubstr("hint container_toolkit_missing_here: docker is used here"));
  EXPECT_THAT(told(host), HasSubstr("there is neither nvidia-ctk nor nvidia-container-runtime"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--runtime=docker"));
  host.world.container_tools->engines = {{"podman", "/run/podman/podman.sock"}};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("cdi generate"));
  host.world.container_tools->cdi_spec = "/etc/cdi/nvidia.yaml";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a CDI description is enough";
}

TEST(DoctorContainerToolkitMissingHere, WhereNobodyMissesTheToolkitNothingIsSaid) {
  Examined bare = healthy();
  bare.world.container_tools->toolkit.clear();
  Examined host = bare;
  host.world.container_tools->engines.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "no containers here";
  host = bare;
  host.world.container_tools.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not looked at";
  host = bare;
  host.world.kernel->is_wsl = true;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "Docker Desktop has its own";
  for (const Reading<std::string>& inside :
       {Reading<std::string>("docker 1a2b3c"), Reading<std::string>(Absent::failed)}) {
    host = bare;
    host.world.container = inside;
    EXPECT_THAT(rules_of(host), IsEmpty()) << "the toolkit is the host's matter";
  }
  host = without_driver(no_driver_has_it, Absent::unsupported);
  host.world.container_tools->toolkit.clear();
  EXPECT_THAT(rules_of(host), Not(Contains("container_toolkit_missing_here")));
}

}  // namespace
}  // namespace berth::doctor
