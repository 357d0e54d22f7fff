// Each rule: a host that fails it, and the healthy one, which fails none.

#include "diagnose/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnose/doctor/torch_choice.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FrameworkBuild torch_for(std::string version, std::optional<TwoPart> cuda) {
  return {.name = "torch",
          .version = std::move(version),
          .where = "/venv/lib/python3.11/site-packages",
          .installer = "pip",
          .cuda = cuda,
          .cuda_source = "torch/version.py"};
}

/// Two cards, driver 580, a torch that fits, everything else as it should be.
Examined healthy() {
  Examined host{.snapshot = SnapshotBuilder().gpu("GPU-a", 80_GiB).gpu("GPU-b", 80_GiB).build()};
  host.snapshot.host.driver_version = std::string("580.65.06");
  host.snapshot.host.cuda_version_supported = std::string("13.0");
  for (Device& device : host.snapshot.devices) device.persistence_mode = true;
  Surroundings& world = host.world;
  world.container = std::string();
  world.kernel = KernelSide{.release = std::string("6.1.0"),
                            .module_version = std::string("580.65.06"),
                            .uvm_loaded = true,
                            .secure_boot = true,
                            .module_installed = true};
  world.device_files = {{"/dev/nvidiactl", FileAccess::opens, "crw-rw-rw- 0:0"},
                        {"/dev/nvidia0", FileAccess::opens, "crw-rw-rw- 0:0"}};
  world.libraries =
      Libraries{.found = {{"libcuda", "/usr/lib64/libcuda.so.580.65.06", "580.65.06", "loader"}},
                .nvcc = "/usr/local/cuda/bin/nvcc",
                .nvcc_version = TwoPart{12, 8}};
  world.limits = Limits{.cpus_online = std::uint64_t{16},
                        .cpus_allowed = std::uint64_t{16},
                        .cpu_quota = Absent::unsupported,
                        .memory_total = 64_GiB,
                        .memory_available = 60_GiB,
                        .shared_memory_total = 32_GiB,
                        .shared_memory_free = 32_GiB,
                        .open_files = std::uint64_t{1024},
                        .open_files_hard = std::uint64_t{1'048'576},
                        .governor = std::string("powersave"),
                        .frequency_driver = std::string("intel_pstate")};
  world.directory = WorkingDirectory{.path = "/home/ada",
                                     .file_system = "ext4",
                                     .total = 900_GiB,
                                     .free = 300_GiB,
                                     .open_microseconds = std::int64_t{40}};
  world.cuda = CudaAnswer{.devices = {{"a", "Test GPU"}, {"b", "Test GPU"}}};
  world.interfaces = {"eth0", "lo"};
  world.python = PythonWorld{.interpreter = "/venv/bin/python",
                             .environment = "/venv",
                             .version = TwoPart{3, 11},
                             .packages = {{"torch", "2.9.1+cu128"}},
                             .frameworks = {torch_for("2.9.1+cu128", TwoPart{12, 8})}};
  world.python->said = {
      .end = ImportEnd::answered,
      .frameworks = {{.name = "torch", .version = "2.9.1", .sees_gpu = true, .devices = 2}}};
  return host;
}

std::vector<std::string> rules_of(const Examined& host) {
  std::vector<std::string> names;
  for (const Finding& finding : examine(host)) names.push_back(finding.rule);
  return names;
}

Finding only(const Examined& host) {
  const Findings findings = examine(host);
  EXPECT_THAT(rules_of(host), ::testing::SizeIs(1));
  return findings.empty() ? Finding{} : findings.front();
}

std::string commands_of(const Finding& finding) {
  std::string all;
  for (const Finding::Step& step : finding.steps) all += step.command + "\n";
  return all;
}

/// The card as PCI shows it where no driver answers for it.
Examined without_driver(std::string unusable_because, Reading<std::string> bound) {
  Examined host = healthy();
  host.snapshot.devices.resize(1);
  Device& card = host.snapshot.devices[0];
  card.index.reset();
  card.unusable_because = std::move(unusable_because);
  card.kernel_driver = std::move(bound);
  host.world.kernel->module_version = Absent::unsupported;
  host.world.cuda->devices.clear();
  host.world.device_files.clear();
  return host;
}

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

// --- devices, libraries, variables -----------------------------------------------------------

TEST(DoctorDevices, HealthsFindingsAreTakenOver) {
  Examined host = healthy();
  host.snapshot.devices[1].lost = true;
  host.snapshot.devices[1].index.reset();
  EXPECT_THAT(rules_of(host), Contains("health_lost"));
  EXPECT_EQ(examine(host).front().severity, Severity::error);
}

TEST(DoctorDevices, PersistenceModeOffWhereNoDisplayIs) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.persistence_mode = false;
  EXPECT_EQ(only(host).rule, "persistence_off");
  host.snapshot.devices[0].display_active = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorDevices, MigOnWithoutAnInstance) {
  Examined host = healthy();
  host.snapshot.devices[0].mig_mode = true;
  EXPECT_EQ(only(host).rule, "mig_without_instances");
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = host.snapshot.devices[0].id;
  host.snapshot.devices.push_back(instance);
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorDevices, MigInstanceWithoutAComputeInstance) {
  Examined host = healthy();
  host.snapshot.devices[1].mig_mode = true;
  host.world.kernel->hollow_instances = {{.minor_number = 1, .gpu_instance = 2}};
  EXPECT_EQ(only(host).rule, "mig_instance_hollow");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("mig -i 1 -gi 2 -cci"));
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = host.snapshot.devices[1].id;
  instance.mig = MigPlace{.gpu_instance = 2};
  host.snapshot.devices.push_back(instance);
  EXPECT_THAT(rules_of(host), IsEmpty()) << "NVML lists a device in it";
  host.snapshot.devices.back().mig = MigPlace{.gpu_instance = 1};
  EXPECT_EQ(only(host).rule, "mig_instance_hollow");
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a container is shown a part";
}

TEST(DoctorDevices, MigModeThatWaitsForAReset) {
  Examined host = healthy();
  Device& card = host.snapshot.devices[0];
  card.mig_mode = false;
  card.details.set(Detail::mig_mode_pending, Reading<bool>(true));
  EXPECT_EQ(only(host).rule, "mig_mode_pending");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--gpu-reset -i 0"));
  card.details.set(Detail::mig_mode_pending, Reading<bool>(false));
  EXPECT_THAT(rules_of(host), IsEmpty());
  card.details.set(Detail::mig_mode_pending, Reading<bool>(Absent::failed));
  EXPECT_THAT(rules_of(host), IsEmpty()) << "what is not known is no finding";
}

TEST(DoctorDevices, ComputeModes) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Prohibited");
  EXPECT_THAT(rules_of(host), Contains("compute_mode_prohibited"));
  host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Exclusive_Process");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody is on it";
  host.snapshot.gpu_processes.push_back({.device = host.snapshot.devices[0].id, .pid = 7});
  EXPECT_THAT(rules_of(host), Contains("compute_mode_exclusive"));
}

TEST(DoctorLibraries, StubsDoublesAndWhatIsNotThere) {
  Examined host = healthy();
  host.world.libraries->found = {
      {"libcuda", "/opt/cuda/lib64/stubs/libcuda.so", "", "LD_LIBRARY_PATH"},
      {"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "LD_LIBRARY_PATH"},
      {"libcudnn", "/a/libcudnn.so.9.0.0", "9.0.0", "LD_LIBRARY_PATH"},
      {"libcudnn", "/b/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  host.world.libraries->preload_missing = {"/gone.so"};
  EXPECT_THAT(rules_of(host),
              ElementsAre("library_path_stubs", "library_twice", "preload_missing"));
  host.world.libraries->preload_missing.clear();
  host.world.libraries->found.erase(host.world.libraries->found.begin() + 2);
  EXPECT_THAT(rules_of(host), ElementsAre("library_path_stubs"))
      << "8 and 9 have names of their own for the loader";
  for (FoundLibrary& one : host.world.libraries->found) one.via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorLibraries, OlderCudaInFrontOfTheFrameworks) {
  Examined host = healthy();
  FoundLibrary old{"libcudart", "/cuda/lib64/libcudart.so.12.2.140", "12.2.140", "LD_LIBRARY_PATH"};
  host.world.libraries->found = {old};
  EXPECT_EQ(only(host).rule, "library_path_old_cuda");
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"12.8.90", "12.9.79", "11.8.89", "12", "13.0.48"}) {
    host.world.libraries->found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  host.world.libraries->found = {old};
  host.world.libraries->found[0].via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.libraries->found = {old};
  host.world.python->said.frameworks[0].error = "ImportError: __nvJitLinkComplete_12_4";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
}

TEST(DoctorLibraries, PreloadedInTheDriversPlace) {
  Examined host = healthy();
  auto& preloaded = host.world.libraries->preloaded;
  preloaded = {{"libcuda", "/usr/lib64/libcuda.so.1", "580.65.06", "LD_PRELOAD"},
               {"libcuda", "/usr/local/cuda/compat/libcuda.so.1", "590.48.01", "LD_PRELOAD"},
               {"libcuda", "/usr/lib/wsl/lib/libcuda.so.1", "1.1", "LD_PRELOAD"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the driver's own, or a newer one on purpose";
  preloaded = {{"libcuda", "/usr/local/cuda/lib64/stubs/libcuda.so", "", "LD_PRELOAD"}};
  EXPECT_EQ(only(host).rule, "preload_stands_in");
  EXPECT_EQ(only(host).severity, Severity::error);
  preloaded = {{"libnvidia-ml", "/home/ada/libnvidia-ml.so.1", "550.54.14", "LD_PRELOAD"}};
  EXPECT_EQ(only(host).severity, Severity::error);
  preloaded = {{"libnccl", "/home/ada/libnccl.so.2", "2.28.3", "LD_PRELOAD"}};
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorToolkits, AnotherMajorThanTorchsStopsExtensionsAlone) {
  Examined host = healthy();
  Libraries& libraries = *host.world.libraries;
  libraries.nvcc_version = TwoPart{11, 8};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody chose it: it is not in PATH";
  libraries.nvcc_in_path = true;
  EXPECT_EQ(only(host).rule, "toolkit_of_another_major");
  EXPECT_EQ(only(host).severity, Severity::hint);
  libraries.nvcc_version = TwoPart{12, 9};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another minor version is well";
  libraries.nvcc_version = TwoPart{11, 8};
  libraries.home =
      CudaHome{.variable = "CUDA_HOME", .folder = "/opt/c", .is_there = true, .version = {{12, 4}}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "CUDA_HOME goes before PATH";
  libraries.home->version = TwoPart{11, 8};
  EXPECT_EQ(only(host).rule, "toolkit_of_another_major");
}

TEST(DoctorToolkits, HomeThatIsNotThereAndTwoOfDifferentMajors) {
  Examined host = healthy();
  Libraries& libraries = *host.world.libraries;
  libraries.home = CudaHome{.variable = "CUDA_HOME", .folder = "/opt/gone"};
  EXPECT_EQ(only(host).rule, "cuda_home_missing");
  libraries.home->is_there = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
  libraries.home.reset();
  libraries.nvcc_in_path = true;
  libraries.toolkit = "/usr/local/cuda-12.2";
  libraries.toolkit_version = TwoPart{12, 2};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another minor version is well";
  libraries.toolkit_version = TwoPart{11, 8};
  EXPECT_EQ(only(host).rule, "toolkits_differ");
}

TEST(DoctorTensorFlow, CudnnOfAnotherMajorThanItsBuild) {
  Examined host = healthy();
  host.world.python->frameworks = {{.name = "tensorflow",
                                    .version = "2.18.0",
                                    .cuda = std::optional(TwoPart{12, 5}),
                                    .cudnn_major = 9}};
  host.world.python->said = {};
  host.world.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "loader"}};
  EXPECT_EQ(only(host).rule, "cudnn_of_another_major");
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.3.0.75"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the environment brings its own";
  host.world.python->packages.clear();
  host.world.libraries->found.push_back({"libcudnn", "/d/libcudnn.so.9.1.0", "9.1.0", "loader"});
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the loader takes the one of that name";
}

TEST(DoctorLibraries, WheelsOfTwoGenerations) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu11", "8.5"}, {"nvidia_cublas_cu12", "12.1"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->packages.emplace_back("nvidia_cudnn_cu12", "9.1");
  EXPECT_EQ(only(host).rule, "wheels_of_two_majors");
}

TEST(DoctorVariables, VisibleDevices) {
  Examined host = healthy();
  host.visible = VisibleList{.value = "0,1", .devices = {DeviceId("GPU-a"), DeviceId("GPU-b")}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.visible =
      VisibleList{.value = "0,x", .devices = {DeviceId("GPU-a")}, .remarks = {"entry 2"}};
  EXPECT_EQ(only(host).rule, "visible_devices_broken");
  host.visible = VisibleList{.value = "0", .unclear = "the cards differ"};
  EXPECT_EQ(only(host).rule, "visible_devices_unclear");
}

TEST(DoctorVariables, OfNccl) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_SOCKET_IFNAME", "^lo,docker"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {
      {"NCCL_SOCKET_IFNAME", "ib"}, {"NCCL_P2P_DISABLE", "1"}, {"NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_THAT(rules_of(host),
              ElementsAre("nccl_interface_missing", "nccl_slow_settings", "nccl_old_names"));
  host.world.variables = {{"NCCL_SOCKET_IFNAME", "eth"}, {"CUDA_LAUNCH_BLOCKING", "1"}};
  EXPECT_EQ(only(host).rule, "launch_blocking");
}

// --- the CPU's side --------------------------------------------------------------------------

TEST(DoctorProcessor, ThreadsAgainstCpus) {
  Examined host = healthy();
  host.world.variables = {{"OMP_NUM_THREADS", "16"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {{"OMP_NUM_THREADS", "32"}};
  EXPECT_EQ(only(host).rule, "threads_over_cores");
  EXPECT_EQ(only(host).steps.at(0).command, "export OMP_NUM_THREADS=16");
  host = healthy();
  host.world.limits->cpu_quota = 2.0;
  EXPECT_EQ(only(host).rule, "quota_below_cores");
  host = healthy();
  host.world.limits->cpus_allowed = std::uint64_t{1};
  EXPECT_EQ(only(host).rule, "one_cpu_of_many");
}

TEST(DoctorProcessor, MemoryAndFiles) {
  Examined host = healthy();
  host.world.limits->memory_available = 1_GiB;
  EXPECT_EQ(only(host).rule, "memory_low");
  host = healthy();
  host.world.limits->memory_limit = 8_GiB;
  host.world.limits->memory_charged = Bytes{(8ULL << 30) - 1};
  EXPECT_EQ(only(host).rule, "memory_limit_near");
  host = healthy();
  host.world.limits->shared_memory_total = host.world.limits->shared_memory_free = Bytes{64 << 20};
  EXPECT_EQ(only(host).severity, Severity::hint);
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_EQ(only(host).severity, Severity::warning);
  host = healthy();
  host.world.limits->open_files = std::uint64_t{256};
  EXPECT_EQ(only(host).rule, "open_files_low");
  host = healthy();
  host.world.limits->frequency_driver = std::string("acpi-cpufreq");
  EXPECT_EQ(only(host).rule, "governor_powersave");
}

TEST(DoctorProcessor, TorchWithoutMklWhereTheCpuIsAllThereIs) {
  Examined host = healthy();
  host.world.limits->cpu_vendor = std::string("GenuineIntel");
  host.world.python->said.frameworks[0].has_mkl = false;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it computes on the GPU";
  host.world.python->said.frameworks[0].sees_gpu.reset();
  EXPECT_EQ(only(host).rule, "mkl_missing");
  EXPECT_EQ(only(host).severity, Severity::hint);
  host.world.limits->cpu_vendor = std::string("AuthenticAMD");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorFolders, SlowFullOrSilent) {
  Examined host = healthy();
  host.world.directory->open_microseconds = std::int64_t{20'000};
  EXPECT_EQ(only(host).rule, "slow_directory");
  host = healthy();
  host.world.directory->file_system = "nfs4";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "quick enough, whatever its type";
  host.world.directory->file_system = "fuse.sshfs";
  EXPECT_FALSE(only(host).doubt.empty());
  host = healthy();
  host.world.directory->free = Bytes{100 << 20};
  EXPECT_EQ(only(host).rule, "disk_nearly_full");
  host = healthy();
  host.world.silent_folders = {"/mnt/data"};
  EXPECT_EQ(only(host).rule, "folder_silent");
}

TEST(TorchChoice, NeverTakesACudaWhoseDriverIsNotKnown) {
  const Examined host = healthy();
  const auto build = doctor::fitting_torch(host, torch_for("2.14.0+cpu", std::nullopt));
  ASSERT_TRUE(build);
  EXPECT_EQ(build->cuda, (TwoPart{13, 0})) << "13.2 is newer than the table of drivers";
}

TEST(Doctor, DevicesThatCouldNotBeLookedAtAreAnErrorAndNotNone) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.problems = {
      {.source = "probe", .code = "crashed", .message = "the probe process died of signal 11"}};
  const Findings findings = examine(host);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "devices_not_seen");
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_EQ(findings[0].evidence[0].english(), "the probe process died of signal 11");
}

using compute::ProofEnd;
using compute::ProofOf;

/// Card 0 of the healthy host, tested: every figure as an H100 has it.
Examined tested_host() {
  Examined host = healthy();
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = std::uint64_t{16896};
  card.clock_sm_max = Megahertz(1980);
  card.memory_bandwidth = BytesPerSecond(3'352'320'000'000);
  card.pcie_generation_max = std::uint64_t{5};
  card.pcie_width_max = std::uint64_t{16};
  host.gpu_proofs = {{.device = card.id,
                      .steps = {{.what = ProofOf::opening, .detail = "cuda:0"},
                                {.what = ProofOf::multiply, .per_second = 20e12},
                                {.what = ProofOf::multiply_cpu, .per_second = 20e9},
                                {.what = ProofOf::copy_inside, .per_second = 2.6e12},
                                {.what = ProofOf::copy_in, .per_second = 9e9},
                                {.what = ProofOf::copy_out, .per_second = 9e9},
                                {.what = ProofOf::copy_in_pinned, .per_second = 55e9},
                                {.what = ProofOf::copy_out_pinned, .per_second = 55e9},
                                {.what = ProofOf::copy_to_peer, .per_second = 20e9, .peer = "1"}},
                      .cpu_threads = 16}};
  return host;
}

TEST(DoctorGpuTest, ACardThatComputesAsItShouldHasNoFinding) {
  EXPECT_THAT(rules_of(tested_host()), IsEmpty());
}

TEST(DoctorGpuTest, ASlowStepIsAWarningThatSaysWhatItCouldBe) {
  struct Case {
    std::size_t step;
    double slow;
    double fast;
  };
  // Just below and just above a tenth of the cores, half of the memory, half of the link.
  for (const Case& one :
       {Case{1, 6.6e12, 6.8e12}, {3, 1.67e12, 1.69e12}, {6, 31e9, 32e9}, {7, 31e9, 32e9}}) {
    Examined host = tested_host();
    host.gpu_proofs[0].steps[one.step].per_second = one.slow;
    const Findings findings = examine(host);
    ASSERT_EQ(findings.size(), 1U) << one.step;
    EXPECT_EQ(findings[0].rule, "gpu_slow");
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_FALSE(findings[0].doubt.empty());
    host.gpu_proofs[0].steps[one.step].per_second = one.fast;
    EXPECT_THAT(examine(host), IsEmpty()) << one.step;
  }
}

TEST(DoctorGpuTest, ACardOfWhichTheBestIsNotKnownIsNotCalledSlow) {
  Examined host = tested_host();
  for (compute::ProofStep& step : host.gpu_proofs[0].steps) step.per_second = 1.0;
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = Absent::unsupported;
  card.memory_bandwidth = Absent::unsupported;
  card.pcie_width_max = Absent::failed;
  EXPECT_THAT(examine(host), IsEmpty());
}

TEST(DoctorGpuTest, WrongResultsRefusalsAndSilenceAreErrors) {
  struct Case {
    std::size_t step;
    ProofEnd end;
    const char* rule;
  };
  for (const Case& one : {Case{1, ProofEnd::wrong, "gpu_computes_wrong"},
                          {2, ProofEnd::wrong, "cpu_computes_wrong"},
                          {4, ProofEnd::wrong, "gpu_copies_wrong"},
                          {0, ProofEnd::failed, "gpu_test_failed"},
                          {8, ProofEnd::unfinished, "gpu_test_unfinished"}}) {
    Examined host = tested_host();
    compute::ProofStep& step = host.gpu_proofs[0].steps[one.step];
    step = {.what = step.what, .end = one.end, .detail = "row 7 of 64", .peer = step.peer};
    const Findings findings = examine(host);
    ASSERT_EQ(findings.size(), 1U) << one.rule;
    EXPECT_EQ(findings[0].rule, one.rule);
    EXPECT_EQ(findings[0].severity, Severity::error);
    EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("row 7 of 64"));
  }
}

TEST(DoctorGpuTest, ATakenCardIsNamedWithHowToTestItAllTheSame) {
  Examined host = tested_host();
  host.gpu_proofs[0] = {
      .device = host.gpu_proofs[0].device, .left_out = "leased", .is_taken = true};
  const Findings findings = examine(host);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "gpu_not_tested");
  EXPECT_EQ(findings[0].steps[0].command, "berth doctor --gpu-test --force -i 0");
  host.gpu_proofs[0].is_taken = false;
  EXPECT_THAT(examine(host), IsEmpty());
}

}  // namespace
}  // namespace berth
