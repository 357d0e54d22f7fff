// The rules of the cards' settings, libraries, variables and the CPU's side.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// --- devices, libraries, variables -----------------------------------------------------------

TEST(DoctorDevices, HealthsFindingsAreTakenOver) {
  Examined host = healthy();
  host.snapshot.devices[1].lost = true;
  host.snapshot.devices[1].index.reset();
  EXPECT_THAT(rules_of(host), Contains("health_lost"));
  EXPECT_EQ(findings_of(host).front().severity, Severity::error);
}

TEST(DoctorDevices, WhatHealthOnlyNotesHasAMeaningAndAStepToo) {
  Examined host = healthy();
  host.snapshot.devices[0].ecc_corrected = std::uint64_t{3};
  host.snapshot.devices[0].ecc_mode = true;
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "health_ecc_corrected");
  EXPECT_EQ(found.severity, Severity::hint);
  EXPECT_EQ(commands_of(found), "berth health\n");
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

TEST(DoctorLibraries, OlderCudnnOrNcclInFrontOfTheWheels) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"},
                                 {"nvidia_nccl_cu12", "2.27.5"}};
  auto& found = host.world.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(only(host).rule, "library_path_old_cuda");
  EXPECT_THAT(only(host).title.english(), HasSubstr("older cuDNN in front of that of torch"));
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("nvidia_cudnn_cu12 9.10.2.21"));
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"9.10.2", "9.10.3", "9.11.0", "9", "", "8.9.7", "10.0.0"}) {
    found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  found = {{"libnccl", "/c/libnccl.so.2.18.5", "2.18.5", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(only(host).title.english(), HasSubstr("older NCCL"));
  host.world.python->said.frameworks[0].error = "ImportError: undefined symbol: ncclCommWindow";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
  host.world.python->said.frameworks[0].error.clear();
  host.world.python->packages.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "which one torch has is not to be told";
}

TEST(DoctorLibraries, OlderOnesThatTheLoaderDoesNotTakeAreWell) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  auto& found = host.world.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the system's are looked at last";
  found = {{"libcudnn", "/venv/libcudnn.so.9", "9", "LD_LIBRARY_PATH"},
           {"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "the wheels' own is first";
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  host.world.python->packages = {{"nvidia_cudnn_cu11", "9.10.2.21"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another generation's wheel is not this torch's";
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "a build without CUDA";
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
  libraries.home = CudaHome{.variable = "CUDA_HOME",
                            .folder = "/opt/cuda-12.8",
                            .is_there = true,
                            .version = libraries.nvcc_version};
  EXPECT_THAT(rules_of(host), Not(Contains("toolkits_differ"))) << "a choice of both alike";
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

TEST(DoctorContainers, WithoutToolkitAndCdiTheyGetNoGpu) {
  Examined host = healthy();
  host.world.container_tools->toolkit.clear();
  EXPECT_EQ(only(host).rule, "container_toolkit_missing_here");
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_THAT(only(host).evidence.front().english(), HasSubstr("docker is used here"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--runtime=docker"));
  host.world.container_tools->engines = {{"podman", "/run/podman/podman.sock"}};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("cdi generate"));
  host.world.container_tools->cdi_spec = "/etc/cdi/nvidia.yaml";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a CDI description is enough";
}

TEST(DoctorContainers, WhereNobodyMissesTheToolkitNothingIsSaid) {
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
  host = without_driver("no driver is bound to it", Absent::unsupported);
  host.world.container_tools->toolkit.clear();
  EXPECT_THAT(rules_of(host), Not(Contains("container_toolkit_missing_here")));
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

TEST(DoctorVariables, OrderThatCudaDoesNotKnow) {
  Examined host = healthy();
  for (const char* known : {"PCI_BUS_ID", "FASTEST_FIRST", ""}) {
    host.world.variables = {{"CUDA_DEVICE_ORDER", known}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << known;
  }
  host.world.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS"}};
  EXPECT_EQ(only(host).rule, "device_order_unknown");
  EXPECT_EQ(only(host).severity, Severity::hint);
  host.snapshot.devices.pop_back();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "one GPU has one number";
}

TEST(DoctorVariables, OfNccl) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_SOCKET_IFNAME", "^lo,docker"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {
      {"NCCL_SOCKET_IFNAME", "ib"}, {"NCCL_P2P_DISABLE", "1"}, {"NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_THAT(rules_of(host),
              ElementsAre("nccl_interface_missing", "nccl_slow_settings", "nccl_old_names"));
  host.world.variables = {{"NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_EQ(
      commands_of(only(host)),
      "export TORCH_NCCL_BLOCKING_WAIT=\"$NCCL_BLOCKING_WAIT\" && unset NCCL_BLOCKING_WAIT\n");
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

TEST(DoctorProcessor, ThreadsThatTorchItselfSays) {
  Examined host = healthy();
  auto& threads = host.world.python->said.frameworks[0].threads;
  threads = 16;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.limits->cpus_allowed = std::uint64_t{8};
  host.world.variables = {{"OMP_NUM_THREADS", "16,4"}};
  EXPECT_EQ(only(host).rule, "threads_over_cores");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("16 threads"));
  threads = 15;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "less than twice as many";
  host.world.variables = {{"OMP_NUM_THREADS", "15"}};
  EXPECT_EQ(only(host).evidence.at(0).english(), "OMP_NUM_THREADS=15");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
  host.world.limits->cpu_quota = 0.5;
  host.world.variables = {{"OMP_NUM_THREADS", "1"}};
  threads = 1;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "no program has fewer";
  threads = 15;
  host.world.variables.clear();
  host.world.limits->cpu_quota = 2.0;
  EXPECT_EQ(only(host).rule, "quota_below_cores");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
}

TEST(DoctorProcessor, MemoryAndFiles) {
  Examined host = healthy();
  host.world.limits->memory_available = 1_GiB;
  EXPECT_EQ(only(host).rule, "memory_low");
  EXPECT_THAT(only(host).evidence, ::testing::SizeIs(1));
  host.world.limits->swap_total = 8_GiB;
  host.world.limits->swap_free = 5_GiB;
  EXPECT_THAT(only(host).evidence, ::testing::SizeIs(1)) << "most of it is left";
  host.world.limits->swap_free = 1_GiB;
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("1.0 GiB of 8.0 GiB of swap"));
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

TEST(DoctorFolders, SlowToReadWhereEnoughCameFromTheDisk) {
  Examined host = healthy();
  const ReadSpeed slow{
      .file = "a.bin", .bytes = Bytes{8'000'000}, .microseconds = 800'000, .cached = 0.1};
  host.world.directory->read_speed = slow;
  EXPECT_EQ(only(host).rule, "slow_directory");
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("a.bin was read at 10.0 MB/s"));
  const auto with = [&](auto change) {
    ReadSpeed other = slow;
    change(other);
    host.world.directory->read_speed = other;
    return rules_of(host);
  };
  EXPECT_THAT(with([](ReadSpeed& one) { one.microseconds = 400'000; }), IsEmpty()) << "20 MB/s";
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = 0.25; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = Absent::unsupported; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.bytes = Bytes{(4 << 20) - 1}; }), IsEmpty());
  host.world.directory->read_speed = Absent::failed;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not read in time is told, and is no finding";
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

}  // namespace
}  // namespace berth::doctor
