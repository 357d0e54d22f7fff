#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentence.h"
#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorDevicesNotSeen, DevicesThatCouldNotBeLookedAtAreAnErrorAndNotNone) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.problems = {{.source = "probe",
                             .code = "crashed",
                             .message = Sentence("the probe process died of signal 11")}};
  const Findings findings = findings_of(host);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(told(findings[0]), "error devices_not_seen: the probe process died of signal 11");
}

TEST(DoctorDevicesNotSeen, AProblemBesideDevicesThatWereSeenIsNotThis) {
  Examined host = healthy();
  host.snapshot.problems = {{.source = "probe", .code = "slow", .message = Sentence("took long")}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorNouveauDriver, NouveauHasTheCard) {
  const Examined host = without_driver(Unusable::nouveau, std::string("nouveau"));
  EXPECT_THAT(told(host), HasSubstr("error nouveau_driver: nouveau is bound to "));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("blacklist nouveau"));
}

TEST(DoctorNouveauDriver, NvidiasOwnDriverHasTheCard) {
  Examined host = healthy();
  for (Device& card : host.snapshot.devices) card.kernel_driver = std::string("nvidia");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorNoDriver, CardWithoutADriver) {
  Examined host = without_driver(Unusable::no_driver, Absent::unsupported);
  host.facts.kernel->secure_boot = false;
  EXPECT_THAT(told(host), HasSubstr("error no_driver: no kernel driver is bound to "));
  EXPECT_THAT(told(host), HasSubstr("the nvidia module is built for the running kernel 6.1.0"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("modprobe nvidia"));
  host.facts.kernel->module_installed = false;
  EXPECT_THAT(told(host), HasSubstr("there is no nvidia module for the running kernel 6.1.0"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("dkms"));
}

TEST(DoctorNoDriver, SecureBootIsSuspectedWhereTheModuleIsBuiltAndNotLoaded) {
  const Examined host = without_driver(Unusable::no_driver, Absent::unsupported);
  EXPECT_THAT(told(host), HasSubstr("error secure_boot: Secure Boot is on (efivars)"));
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorNoDriver, CardGivenToAVirtualMachineIsNoFinding) {
  EXPECT_THAT(rules_of(without_driver(Unusable::given_to_machine, std::string("vfio-pci"))),
              IsEmpty());
}

TEST(DoctorDriverVersionsDiffer, LibraryAndModuleOfDifferentVersions) {
  Examined host = without_driver(Unusable::library_silent, std::string("nvidia"));
  host.facts.kernel->module_version = std::string("575.51.03");
  host.facts.device_files = healthy().facts.device_files;
  host.facts.libraries->found.push_back(
      {"libnvidia-ml", "/usr/lib64/libnvidia-ml.so.580.65.06", "580.65.06", "loader"});
  host.snapshot.problems.push_back(
      {.source = "nvml", .code = "version_mismatch", .message = Sentence("18")});
  EXPECT_EQ(told(host),
            "error driver_versions_differ: 18; the loaded module is 575.51.03; the library is "
            "/usr/lib64/libnvidia-ml.so.580.65.06");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("sudo reboot"));
}

TEST(DoctorDriverVersionsDiffer, ModuleAndLibraryOfOneVersionAnswer) {
  Examined host = healthy();
  host.facts.libraries->found.push_back(
      {"libnvidia-ml", "/usr/lib64/libnvidia-ml.so.580.65.06", "580.65.06", "loader"});
  EXPECT_THAT(rules_of(host), IsEmpty());
}

Examined silent_host() {
  Examined host = without_driver(Unusable::library_silent, std::string("nvidia"));
  host.facts.kernel->module_version = std::string("580.65.06");
  host.facts.device_files = healthy().facts.device_files;
  host.snapshot.problems.push_back(
      {.source = "nvml", .code = "driver_failed", .message = Sentence("nvmlInit failed")});
  return host;
}

TEST(DoctorDriverSilent, ModuleIsLoadedAndTheLibraryDoesNotAnswer) {
  Examined host = silent_host();
  EXPECT_EQ(told(host), "error driver_silent: nvmlInit failed");
  EXPECT_EQ(only(host).steps.at(0).what.english(), "read the kernel log");
  host.snapshot.problems[0].remedy = Sentence("load the module");
  EXPECT_EQ(only(host).steps.at(0).what.english(), "load the module");
}

TEST(DoctorDriverSilent, WithoutCardAndModuleNothingShouldAnswer) {
  Examined host = silent_host();
  host.snapshot.devices.clear();
  host.facts.kernel->module_version = Absent::unsupported;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorDriverSilent, WhereOneCardAnswersTheLibraryDoes) {
  Examined host = healthy();
  host.snapshot.problems = silent_host().snapshot.problems;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

Examined host_with_files(std::vector<DeviceFile> files) {
  Examined host = without_driver(Unusable::library_silent, std::string("nvidia"));
  host.facts.kernel->module_version = std::string("580.65.06");
  host.facts.device_files = std::move(files);
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
  EXPECT_THAT(rules_of(host_with_files(healthy().facts.device_files)), IsEmpty());
}

TEST(DoctorDeviceFiles, OneThatIsBlockedIsToldWhileTheDriverAnswers) {
  Examined host = healthy();
  host.facts.device_files[1].access = FileAccess::forbidden;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another card's";
  host.facts.device_files[1].access = FileAccess::blocked;
  EXPECT_EQ(only(host).rule, "devices_taken_away");
}

TEST(DoctorDeviceFiles, InAContainerTheyAreTheContainersMatterAndInWslThereAreNone) {
  Examined host = host_with_files({});
  host.facts.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), Not(Contains("device_files_missing")));
  host = host_with_files({});
  host.facts.kernel->is_wsl = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
