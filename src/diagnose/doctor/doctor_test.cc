// Each rule: a host that fails it, and the healthy one, which fails none.

#include "diagnose/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnose/doctor/healthy_host_test.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Doctor, FindsNothingOnAHealthyMachine) { EXPECT_THAT(rules_of(healthy()), IsEmpty()); }

TEST(Doctor, FindsNothingOnAMachineWithoutACard) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.host = {};
  host.world.kernel = KernelSide{.module_version = Absent::unsupported};
  host.world.device_files.clear();
  host.world.cuda =
      CudaAnswer{.problem = "libcuda.so.1: cannot open shared object file", .is_absent = true};
  host.world.python->frameworks = {torch_for("1.13.0", std::nullopt)};
  host.world.python->said.frameworks[0].sees_gpu = false;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(Doctor, FindsNothingWhereNothingWasLookedAt) {
  Examined host = healthy();
  host.world = {};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(Doctor, NamesEachRuleOnceInItsList) {
  const auto names = doctor_rule_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

// --- driver ----------------------------------------------------------------------------------

TEST(DoctorDriver, CardWithoutADriver) {
  Examined host = without_driver("no kernel driver is bound to it", Absent::unsupported);
  host.world.kernel->secure_boot = false;
  EXPECT_THAT(rules_of(host), ElementsAre("no_driver"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("modprobe nvidia"));
  host.world.kernel->module_installed = false;
  EXPECT_THAT(commands_of(only(host)), HasSubstr("dkms"));
}

TEST(DoctorDriver, SecureBootIsSuspectedWhereTheModuleIsBuiltAndNotLoaded) {
  const Finding found =
      only(without_driver("no kernel driver is bound to it", Absent::unsupported));
  EXPECT_EQ(found.rule, "secure_boot");
  EXPECT_FALSE(found.doubt.empty());
}

TEST(DoctorDriver, NouveauHasTheCard) {
  EXPECT_THAT(rules_of(without_driver("the nouveau driver has it; CUDA needs NVIDIA's own driver",
                                      std::string("nouveau"))),
              ElementsAre("nouveau_driver"));
}

TEST(DoctorDriver, CardThatNoOtherRuleTellsOfIsHealths) {
  EXPECT_THAT(rules_of(without_driver("another kernel driver has it", std::string("nvidiafb"))),
              ElementsAre("health_unusable"));
}

TEST(DoctorDriver, CardGivenToAVirtualMachineIsNoFinding) {
  EXPECT_THAT(
      rules_of(without_driver("given to a virtual machine (vfio-pci)", std::string("vfio-pci"))),
      IsEmpty());
}

TEST(DoctorDriver, LibraryAndModuleOfDifferentVersions) {
  Examined host = without_driver("NVIDIA's library does not answer", std::string("nvidia"));
  host.world.kernel->module_version = std::string("575.51.03");
  host.world.device_files = healthy().world.device_files;
  host.snapshot.problems.push_back({.source = "nvml", .code = "version_mismatch", .message = "18"});
  EXPECT_THAT(rules_of(host), ElementsAre("driver_versions_differ"));
  host.snapshot.problems[0].code = "driver_failed";
  EXPECT_THAT(rules_of(host), ElementsAre("driver_silent"));
}

TEST(DoctorDeviceFiles, MissingForbiddenOrBlocked) {
  Examined host = without_driver("NVIDIA's library does not answer", std::string("nvidia"));
  host.world.kernel->module_version = std::string("580.65.06");
  EXPECT_THAT(rules_of(host), Contains("device_files_missing"));
  host.world.device_files = {{"/dev/nvidiactl", FileAccess::forbidden, "crw-rw---- 0:44"}};
  EXPECT_THAT(rules_of(host), Contains("device_files_forbidden"));
  host.world.device_files = {{"/dev/nvidiactl", FileAccess::blocked, "crw-rw-rw- 0:0"}};
  EXPECT_THAT(rules_of(host), Contains("devices_taken_away"));
  host.world.device_files.clear();
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), Contains("container_without_devices"));
  EXPECT_THAT(rules_of(host), Not(Contains("device_files_missing")));
}

TEST(DoctorContainer, IsToldByVariablesWhatItMayHave) {
  Examined host = healthy();
  host.world.container = std::string("docker 1a2b3c");
  host.world.variables = {{"NVIDIA_VISIBLE_DEVICES", "all"},
                          {"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
  EXPECT_THAT(rules_of(host), ElementsAre("container_without_compute"));
  host.world.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the GPUs are there all the same";
  host.snapshot.devices.clear();
  EXPECT_THAT(rules_of(host), Contains("container_hides_devices"));
}

// --- CUDA ------------------------------------------------------------------------------------

TEST(DoctorCuda, RefusesWithACodeThatIsExplained) {
  Examined host = healthy();
  host.world.cuda = CudaAnswer{.problem = "cuInit failed with error 802", .code = 802};
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "cuda_refuses");
  EXPECT_THAT(found.evidence.at(1).english(), HasSubstr("NVSwitch"));
  host.world.cuda = CudaAnswer{.problem = "libcuda did not answer in time", .took_too_long = true};
  EXPECT_EQ(only(host).rule, "cuda_refuses");
  EXPECT_EQ(only(host).severity, Severity::warning) << "slow is not broken";
}

TEST(DoctorCuda, EachCodeHasAStepOfItsOwnOrTheKernelLog) {
  Examined host = healthy();
  for (const int code : {2, 3, 34, 35, 46, 100, 101, 304, 802, 803, 804, 805, 999}) {
    host.world.cuda = CudaAnswer{.problem = "cuInit failed", .code = code};
    EXPECT_THAT(only(host).evidence, ::testing::SizeIs(2)) << code;
  }
  for (const int code : {1, 719, 99'999}) {
    host.world.cuda = CudaAnswer{.problem = "cuInit failed", .code = code};
    EXPECT_THAT(commands_of(only(host)), HasSubstr("dmesg")) << code;
  }
  host.world.cuda = CudaAnswer{.problem = "libcuda crashed (signal 11)"};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("dmesg"));
}

TEST(DoctorCuda, LibraryThatIsNotThereIsNamedAsSuch) {
  Examined host = healthy();
  host.world.cuda = CudaAnswer{.problem = "libcuda.so.1: cannot open it", .is_absent = true};
  EXPECT_EQ(only(host).rule, "libcuda_missing");
  EXPECT_EQ(only(host).severity, Severity::error);
  EXPECT_THAT(commands_of(only(host)), HasSubstr("libcuda.so.1"));
}

TEST(DoctorCuda, NumbersInAnotherOrder) {
  Examined host = healthy();
  std::swap(host.world.cuda->devices[0], host.world.cuda->devices[1]);
  EXPECT_EQ(only(host).rule, "cuda_order_differs");
  EXPECT_EQ(only(host).evidence.at(0).english(), "cuda:0 is nvidia-smi's 1 (Test GPU)");
  host.visible = VisibleList{.value = "1,0", .devices = {DeviceId("GPU-b"), DeviceId("GPU-a")}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "somebody asked for that order";
}

TEST(DoctorCuda, NewerMinorOfTheSameMajorIsNoFindingAndAnotherMajorIs) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("535.104.05");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "driver_too_old");
  EXPECT_THAT(found.evidence.at(1).english(),
              HasSubstr("runs from 580 on (its toolkit came with 580.65.06)"));
  EXPECT_THAT(commands_of(found),
              HasSubstr("'torch==2.9.*' --index-url https://download.pytorch.org/whl/cu128"));
}

TEST(DoctorCuda, ElevenPointZeroWantsItsOwnDriverAndTheFamilyALaterOne) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("450.51.06");
  host.world.libraries->nvcc_version = TwoPart{11, 0};
  host.world.python->frameworks = {torch_for("1.7.1+cu110", TwoPart{11, 0})};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->frameworks = {torch_for("1.8.0+cu111", TwoPart{11, 1})};
  EXPECT_THAT(rules_of(host), ElementsAre("driver_too_old"));
}

TEST(DoctorCuda, WhatIsNewerThanTheTableIsNoFinding) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("3.0.0+cu141", TwoPart{14, 1})};
  host.world.libraries->nvcc_version = TwoPart{14, 1};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorCuda, ToolkitOfANewerMajorThanTheDriver) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("550.54.14");
  host.world.libraries->nvcc_version = TwoPart{13, 0};
  EXPECT_EQ(only(host).rule, "toolkit_newer_than_driver");
}

// --- frameworks ------------------------------------------------------------------------------

TEST(DoctorTorch, BuildWithoutCudaIsReplacedByTheSameReleaseThatFits) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.5.1+cpu", std::nullopt)};
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "torch_cpu_only");
  EXPECT_EQ(found.severity, Severity::error);
  EXPECT_THAT(commands_of(found),
              HasSubstr("/venv/bin/python -m pip install 'torch==2.5.*' --index-url "
                        "https://download.pytorch.org/whl/cu124"));
}

TEST(DoctorTorch, FamilyIsReplacedTogether) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.world.python->packages.emplace_back("torchvision", "0.24.1");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("uninstall -y torch torchvision && "));
}

TEST(DoctorTorch, MirrorOfBuildsWithoutCudaIsTheCauseAndNotKept) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.world.python->index_url = "https://download.pytorch.org/whl/cpu";
  host.world.python->index_source = "PIP_INDEX_URL";
  const Finding found = only(host);
  EXPECT_THAT(found.evidence.back().english(), HasSubstr("PIP_INDEX_URL"));
  EXPECT_THAT(found.steps.at(0).command, HasSubstr("--index-url"));
}

TEST(DoctorTorch, CondaBuildIsReplacedByConda) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.5.1", std::nullopt)};
  host.world.python->frameworks[0].installer = "conda";
  host.world.python->is_conda = true;
  EXPECT_EQ(only(host).steps.at(0).command, "conda install -p /venv 'pytorch=*=*cuda*'");
  host.world.python->channels_source = "/home/ada/.condarc";
  EXPECT_THAT(only(host).steps.at(0).what.english(), HasSubstr("/home/ada/.condarc"));
  EXPECT_EQ(commands_of(only(host)), "conda install -p /venv 'pytorch=*=*cuda*'\n")
      << "a channel of berth's choice (-c) would go before the user's own";
}

TEST(DoctorTorch, NothingFitsAPythonThatIsTooOld) {
  Examined host = healthy();
  host.world.python->version = TwoPart{3, 6};
  host.world.python->frameworks = {torch_for("1.10.0+cpu", std::nullopt)};
  const Finding found = only(host);
  EXPECT_EQ(commands_of(found), "\n") << "a sentence, no command";
}

TEST(DoctorTorch, CardThatTheBuildHasNoCodeFor) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "architecture_missing");
  EXPECT_THAT(commands_of(found), HasSubstr("cu128"));
  EXPECT_FALSE(found.doubt.empty());
  host.world.python->said.frameworks[0].architectures = {{7, 5}, {8, 0}};
  EXPECT_TRUE(only(host).doubt.empty()) << "it was asked";
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{8, 9};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "code for 8.0 runs on 8.9";
}

TEST(DoctorTorch, AnOldCardBesideAGoodOneStopsNothing) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_capability = ComputeCapability{6, 1};
  host.snapshot.devices[1].compute_capability = ComputeCapability{12, 0};
  host.world.python->frameworks = {torch_for("2.9.1+cu128", TwoPart{12, 8})};
  EXPECT_EQ(only(host).severity, Severity::hint);
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::optional<TwoPart>())};
  host.world.python->said.frameworks[0].sees_gpu = false;
  EXPECT_THAT(commands_of(only(host)), HasSubstr("download.pytorch.org/whl/cu1"));
}

TEST(DoctorTorch, PtxRunsOnCardsNewerThanTheBuild) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{12, 0};
  host.world.python->said.frameworks[0].architectures = {{9, 0}};
  EXPECT_THAT(rules_of(host), Contains("architecture_missing"));
  host.world.python->said.frameworks[0].has_ptx = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorTorch, BuildOfSomebodysOwnIsNotJudgedByTheTable) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.0a0+nv25.10", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorTorch, SeesNothingAlthoughItShould) {
  Examined host = healthy();
  host.world.python->said.frameworks[0].sees_gpu = false;
  host.world.python->said.frameworks[0].warning = "CUDA initialization: unknown error";
  EXPECT_EQ(only(host).rule, "framework_blind");
  host.visible = VisibleList{.value = ""};
  EXPECT_THAT(rules_of(host), ElementsAre("visible_devices_none")) << "that is why";
}

TEST(DoctorImport, CrashedHungOrRaised) {
  Examined host = healthy();
  host.world.python->said.end = ImportEnd::crashed;
  host.world.python->said.detail = "signal 11";
  EXPECT_EQ(only(host).severity, Severity::error);
  host.world.python->said.end = ImportEnd::took_too_long;
  EXPECT_EQ(only(host).severity, Severity::warning);
  host.world.python->said.end = ImportEnd::answered;
  host.world.python->said.frameworks[0].error = "ImportError: libcudnn.so.9";
  EXPECT_EQ(only(host).rule, "import_failed");
}

TEST(DoctorTensorFlow, WithoutCudaOrWithoutItsLibraries) {
  Examined host = healthy();
  host.world.python->frameworks = {
      {.name = "tensorflow", .version = "2.16.1", .cuda = std::optional<TwoPart>()}};
  host.world.python->said = {};
  EXPECT_EQ(only(host).rule, "tensorflow_cpu_only");
  host.world.python->frameworks[0].cuda = std::optional(TwoPart{12, 3});
  EXPECT_EQ(only(host).rule, "tensorflow_libraries_missing");
  host.world.python->packages.emplace_back("nvidia_cudnn_cu12", "8.9.7.29");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorJax, WithoutItsPluginGetsTheOneThatFitsTheDriver) {
  Examined host = healthy();
  host.world.python->frameworks = {
      {.name = "jax", .version = "0.4.38", .cuda = std::optional<TwoPart>()}};
  host.world.python->said = {};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda13]'"));
  host.snapshot.host.driver_version = std::string("550.54.14");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda12]'"));
}

TEST(DoctorPython, FileThatHidesAPackage) {
  Examined host = healthy();
  host.world.shadowing = {"torch.py"};
  EXPECT_EQ(only(host).rule, "shadowed_module");
}

TEST(TorchChoice, NeverTakesACudaWhoseDriverIsNotKnown) {
  const Examined host = healthy();
  const auto build = fitting_torch(host, torch_for("2.14.0+cpu", std::nullopt));
  ASSERT_TRUE(build);
  EXPECT_EQ(build->cuda, (TwoPart{13, 0})) << "13.2 is newer than the table of drivers";
}

TEST(Doctor, DevicesThatCouldNotBeLookedAtAreAnErrorAndNotNone) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.problems = {
      {.source = "probe", .code = "crashed", .message = "the probe process died of signal 11"}};
  const Findings findings = findings_of(host);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "devices_not_seen");
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_EQ(findings[0].evidence[0].english(), "the probe process died of signal 11");
}

}  // namespace
}  // namespace berth::doctor
