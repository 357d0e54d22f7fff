#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorContainerWithoutDevices, TheHostHasADriverAndTheContainerNoFiles) {
  Examined host = without_driver(library_is_silent, std::string("nvidia"));
  host.facts.kernel->module_version = std::string("580.65.06");
  host.facts.container = std::string("docker 1a2b3c");
  EXPECT_EQ(told(host),
            "error container_without_devices: this is a container (docker 1a2b3c); the host has "
            "the nvidia driver 580.65.06 loaded and there is no /dev/nvidiactl here");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--gpus all"));
  host.facts.device_files = healthy().facts.device_files;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it was started with them";
}

TEST(DoctorContainerWithoutDevices, OneWhoseDriverAnswersHasThem) {
  Examined host = healthy();
  host.facts.container = std::string("docker 1a2b3c");
  host.facts.device_files.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorContainerHidesDevices, IsToldToHaveNone) {
  Examined host = healthy();
  host.facts.container = std::string("docker 1a2b3c");
  host.snapshot.devices.clear();
  for (const char* none : {"void", "none", ""}) {
    host.facts.variables = {{"NVIDIA_VISIBLE_DEVICES", none}};
    EXPECT_EQ(
        told(named("container_hides_devices", host)),
        std::string("error container_hides_devices: NVIDIA_VISIBLE_DEVICES=\"") + none + "\"");
  }
  host.facts.variables = {{"NVIDIA_VISIBLE_DEVICES", "all"}};
  EXPECT_THAT(rules_of(host), Not(Contains("container_hides_devices")));
}

TEST(DoctorContainerHidesDevices, WhereTheGpusAreThereAllTheSameNothingIsHidden) {
  Examined host = healthy();
  host.facts.container = std::string("docker 1a2b3c");
  host.facts.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorContainerWithoutCompute, StartedForNvidiaSmiAlone) {
  Examined host = healthy();
  host.facts.container = std::string("docker 1a2b3c");
  host.facts.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
  EXPECT_EQ(told(host),
            "error container_without_compute: NVIDIA_DRIVER_CAPABILITIES=\"utility\" lacks "
            "compute");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
}

TEST(DoctorContainerWithoutCompute, OneThatHasItOrIsNoContainer) {
  Examined host = healthy();
  host.facts.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody reads it outside of a container";
  host.facts.container = std::string("docker 1a2b3c");
  for (const char* well : {"all", "", "utility,compute", "video,all"}) {
    host.facts.variables = {{"NVIDIA_DRIVER_CAPABILITIES", well}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << well;
  }
}

TEST(DoctorContainerToolkitMissingHere, WithoutToolkitAndCdiContainersGetNoGpu) {
  Examined host = healthy();
  host.facts.container_tools->toolkit.clear();
  EXPECT_THAT(told(host), HasSubstr("hint container_toolkit_missing_here: docker is used here"));
  EXPECT_THAT(told(host), HasSubstr("there is neither nvidia-ctk nor nvidia-container-runtime"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--runtime=docker"));
  host.facts.container_tools->engines = {{"podman", "/run/podman/podman.sock"}};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("cdi generate"));
  host.facts.container_tools->cdi_spec = "/etc/cdi/nvidia.yaml";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a CDI description is enough";
}

TEST(DoctorContainerToolkitMissingHere, WhereNobodyMissesTheToolkitNothingIsSaid) {
  Examined bare = healthy();
  bare.facts.container_tools->toolkit.clear();
  Examined host = bare;
  host.facts.container_tools->engines.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "no containers here";
  host = bare;
  host.facts.container_tools.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not looked at";
  host = bare;
  host.facts.kernel->is_wsl = true;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "Docker Desktop has its own";
  for (const Reading<std::string>& inside :
       {Reading<std::string>("docker 1a2b3c"), Reading<std::string>(Absent::failed)}) {
    host = bare;
    host.facts.container = inside;
    EXPECT_THAT(rules_of(host), IsEmpty()) << "the toolkit is the host's matter";
  }
  host = without_driver(no_driver_has_it, Absent::unsupported);
  host.facts.container_tools->toolkit.clear();
  EXPECT_THAT(rules_of(host), Not(Contains("container_toolkit_missing_here")));
}

}  // namespace
}  // namespace berth::doctor
