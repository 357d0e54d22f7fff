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
  Examined host = without_driver(Unusable::library_silent, std::string("nvidia"));
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

TEST(DoctorCdiFileRefused, NamesTheFieldAndTheVersionItNeeds) {
  Examined host = healthy();
  host.facts.container_tools->cdi.specs = {{.path = "/etc/cdi/nvidia.yaml",
                                            .version = "0.5.0",
                                            .kind = "nvidia.com/gpu",
                                            .needs = "0.7.0",
                                            .needed_by = "containerEdits.additionalGids"}};
  EXPECT_THAT(told(host),
              HasSubstr("warning cdi_file_refused: /etc/cdi/nvidia.yaml: cdiVersion says "
                        "0.5.0, and the field containerEdits.additionalGids needs "
                        "0.7.0"));
  host.facts.container_tools->cdi.specs[0].unknown_field = "devices[0].nodes";
  EXPECT_THAT(told(host), HasSubstr("no version of CDI has the field devices[0].nodes"));
  host.facts.container_tools->cdi = {.specs = {}, .problems = {"/etc/cdi/x.json: line 3: broken"}};
  EXPECT_THAT(told(host), HasSubstr("not read: /etc/cdi/x.json: line 3: broken"));
}

TEST(DoctorCdiFileRefused, OneThatSaysWhatItNeedsIsFine) {
  Examined host = healthy();
  host.facts.container_tools->cdi.specs = {{.path = "/etc/cdi/nvidia.yaml",
                                            .version = "0.7.0",
                                            .kind = "nvidia.com/gpu",
                                            .needs = "0.7.0",
                                            .needed_by = "containerEdits.additionalGids"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorCdiFileTooNew, ForAnEngineThatIsHere) {
  Examined host = healthy();
  host.facts.container_tools->cdi.specs = {{.path = "/etc/cdi/nvidia.yaml",
                                            .version = "0.7.0",
                                            .kind = "nvidia.com/gpu",
                                            .needs = "0.7.0",
                                            .needed_by = "containerEdits.additionalGids"}};
  host.facts.container_tools->versions = {{"podman", "4.3.1"}};
  EXPECT_THAT(told(host),
              HasSubstr("warning cdi_file_too_new: /etc/cdi/nvidia.yaml: cdiVersion is 0.7.0 "
                        "(the field containerEdits.additionalGids needs 0.7.0), and "
                        "podman 4.3.1 takes 0.5.0 at most"));
  host.facts.container_tools->versions = {{"podman", "5.4.2"}, {"docker", "26.1.5"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorContainerWithoutLease, NamesItsRun) {
  Examined host = healthy();
  host.facts.containers_left = {{"20261126-101500-abcdef", "docker", "1a2b3c4d5e6f"}};
  EXPECT_THAT(told(host),
              HasSubstr("warning container_without_lease: container 1a2b3c4d5e6f of docker was "
                        "started by run 20261126-101500-abcdef"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("berth stop 20261126-101500-abcdef"));
  host.facts.containers_left.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorContainerWithoutRecord, IsShownAndNothingIsAdvisedThatEndsIt) {
  Examined host = healthy();
  host.facts.containers_unrecorded = {{"docker", std::string(64, 'a'), "20261126-101500-abcdef"}};
  EXPECT_THAT(told(host),
              HasSubstr("warning container_without_record: container aaaaaaaaaaaa of docker has "
                        "the label of run 20261126-101500-abcdef"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("docker inspect aaaaaaaaaaaa"));
  EXPECT_THAT(commands_of(only(host)), Not(HasSubstr("stop")));
  host.facts.containers_unrecorded.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorImageSetsDevices, NamesImageAndValue) {
  Examined host = healthy();
  host.facts.container_tools->images = {{"docker", "lab:1", "0"}};
  EXPECT_THAT(told(host), HasSubstr("hint image_sets_devices: docker: image lab:1 has "
                                    "CUDA_VISIBLE_DEVICES=\"0\""));
  host.facts.container_tools->images.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
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
  host = without_driver(Unusable::no_driver, Absent::unsupported);
  host.facts.container_tools->toolkit.clear();
  EXPECT_THAT(rules_of(host), Not(Contains("container_toolkit_missing_here")));
}

}  // namespace
}  // namespace berth::doctor
