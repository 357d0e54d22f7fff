// What is learned of the user's surroundings, from hand-made folders and children that misbehave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "host_environment/cuda_driver.h"
#include "host_environment/gather_host_facts.h"
#include "host_environment/machine_side.h"
#include "host_environment/python_environment.h"
#include "host_environment/python_files.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class World : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& path) const { return root_ + "/" + path; }
  void put(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    ASSERT_TRUE(make_directories(std::filesystem::path(at(path)).parent_path()));
    ASSERT_TRUE(write_file_atomically(at(path), text, mode));
  }
  TemporaryDirectory directory_;
  std::string root_ = directory_.path();
  SystemClock clock_;
};

using Cuda = Reading<std::optional<TwoPart>>;

TEST(TorchVersionFile, SaysWhichCuda) {
  const auto cuda = parse_torch_version(
      "from typing import Optional\n__version__ = '2.3.1+cu121'\ndebug = False\n"
      "cuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n");
  EXPECT_EQ(cuda.version, "2.3.1+cu121");
  EXPECT_EQ(cuda.cuda, Cuda(TwoPart{12, 1}));
  EXPECT_FALSE(cuda.is_rocm);
  EXPECT_EQ(parse_torch_version("cuda = None\n").cuda, Cuda(std::optional<TwoPart>()));
  EXPECT_EQ(parse_torch_version("").cuda, Cuda(Absent::unsupported));
  EXPECT_TRUE(parse_torch_version("hip: Optional[str] = '6.2.41133'\n").is_rocm);
}

TEST(TensorFlowBuildFile, SaysWhichCudaAndArchitectures) {
  const auto built = parse_tensorflow_build(
      "build_info = collections.OrderedDict([('cuda_version', '12.3')])\n"
      "build_info = {\"cuda_compute_capabilities\": [\"sm_60\", \"compute_90\"], \"cuda_version\": "
      "\"12.3\", \"cudnn_version\": \"9\", \"is_cuda_build\": True}\n");
  EXPECT_EQ(built.cuda, Cuda(TwoPart{12, 3}));
  EXPECT_THAT(built.architectures, ElementsAre(ComputeCapability{6, 0}, ComputeCapability{9, 0}));
  EXPECT_TRUE(built.has_ptx);
  EXPECT_EQ(built.cudnn_major, 9);
  EXPECT_EQ(parse_tensorflow_build("{'is_cuda_build': False}").cuda,
            Cuda(std::optional<TwoPart>()));
}

TEST(PipSettings, IndexIsReadFromItsSections) {
  EXPECT_EQ(parse_pip_index("[global]\ntimeout = 5\nindex-url = https://m/simple\n"),
            "https://m/simple");
  EXPECT_EQ(parse_pip_index("[freeze]\nindex-url = https://m/simple\n"), "");
}

TEST(CondaSettings, NameChannelsOrAMirror) {
  for (const char* text : {"channels:\n  - https://m/conda\n", "channels:\n- defaults\n",
                           "channels: [conda-forge]\n", "channel_alias: https://m/conda # ours\n",
                           "ssl_verify: true\ndefault_channels:\n\n  # ours\n  - https://m\n"}) {
    EXPECT_TRUE(names_conda_channels(text)) << text;
  }
  for (const char* text : {"", "channels:\n", "channels: []\nssl_verify: true\n",
                           "channels: # none\npkgs_dirs:\n  - /x\n", "x:\n  channels: y\n",
                           "#channels: [a]\n", "channels"}) {
    EXPECT_FALSE(names_conda_channels(text)) << text;
  }
}

TEST(Versions, AreComparedPartByPart) {
  EXPECT_TRUE(is_older_version("525.60.9", "525.60.13"));
  EXPECT_FALSE(is_older_version("580.65.06", "580"));
  EXPECT_FALSE(is_older_version("1000.1", "999.9"));
  EXPECT_EQ(two_part("12.8.1+x"), (TwoPart{12, 8}));
  EXPECT_EQ(two_part("13"), (TwoPart{13, 0}));
  EXPECT_FALSE(two_part("x"));
}

TEST(KernelModule, VersionIsReadFromBothKinds) {
  EXPECT_EQ(parse_nvrm_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat\n"),
            "535.104.05");
  EXPECT_EQ(parse_nvrm_version(
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Rel\n"),
            "580.65.06");
  EXPECT_FALSE(parse_nvrm_version("no such thing\n"));
}

TEST(FileSystems, TheDeepestMountCounts) {
  const std::string mounts =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:40 / /home rw shared:1 - nfs4 s:/home rw\n";
  EXPECT_EQ(file_system_of(mounts, "/home/ada"), "nfs4");
  EXPECT_EQ(file_system_of(mounts, "/homestead"), "ext4");
  EXPECT_EQ(file_system_of("", "/"), "");
}

TEST_F(World, AJobGetsNoMoreThreadsThanItMayUse) {
  put("sys/devices/system/cpu/online", "0-63\n");
  EXPECT_EQ(threads_of_a_job(root_), 16U) << "a quarter of a large machine";
  put("proc/self/status", "Cpus_allowed_list:\t0-3,8\n");
  EXPECT_EQ(threads_of_a_job(root_), 5U);
  put("proc/self/cgroup", "0::/job\n");
  put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(threads_of_a_job(root_), 2U);
  put("sys/fs/cgroup/job/cpu.max", "10000 100000\n");
  EXPECT_EQ(threads_of_a_job(root_), 1U);
  put("sys/devices/system/cpu/online", "0-5\n");
  put("proc/self/status", "Cpus_allowed_list:\t0-5\n");
  put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(threads_of_a_job(root_), 6U) << "all of a small one";
}

TEST_F(World, LimitsAreReadFromTheKernelsFiles) {
  put("proc/self/status", "Cpus_allowed_list:\t0-3,8\n");
  put("proc/self/limits",
      "Limit\nMax open files            1024                 4096                 files\n");
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/job/memory.max", "1073741824\n");
  put("sys/fs/cgroup/job/memory.current", "1500\n");
  put("sys/fs/cgroup/job/memory.stat", "anon 700\ninactive_file 500\nactive_file 300\n");
  put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: X\n");
  const Limits limits = gather_limits(root_);
  EXPECT_EQ(limits.cpu_vendor, Reading<std::string>("GenuineIntel"));
  EXPECT_EQ(limits.cpus_allowed, Reading<std::uint64_t>(5));
  EXPECT_EQ(limits.cpu_quota, Reading<double>(1.5));
  EXPECT_EQ(limits.open_files, Reading<std::uint64_t>(1024));
  EXPECT_EQ(limits.memory_limit, Reading<Bytes>(Bytes{1 << 30}));
  EXPECT_EQ(limits.memory_charged, Reading<Bytes>(Bytes{1000})) << "without what can be given back";
  EXPECT_EQ(limits.governor, Reading<std::string>(Absent::unsupported));
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
  EXPECT_EQ(gather_limits(root_).governor, Reading<std::string>("powersave"));
  EXPECT_EQ(gather_limits(root_).frequency_driver, Reading<std::string>("acpi-cpufreq"));
}

TEST_F(World, AQuotaOfControlGroupsOfVersion1IsRead) {
  put("proc/self/cgroup", "4:cpu,cpuacct:/docker/a\n3:memory:/docker/a\n0::/\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(gather_limits(root_).cpu_quota, Reading<double>(2.5));
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(gather_limits(root_).cpu_quota, Reading<double>(Absent::unsupported));
}

TEST_F(World, KernelSideAndDeviceFiles) {
  put("proc/sys/kernel/osrelease", "6.1.0\n");
  put("lib/modules/6.1.0/modules.dep", "updates/dkms/nvidia.ko.xz: x\n");
  put("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
      std::string("\x06\0\0\0\x01", 5));
  put("dev/nvidiactl", "");
  put("proc/driver/nvidia/capabilities/mig/config", "");
  put("proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0/access", "");
  put("proc/driver/nvidia/capabilities/gpu1/mig/gi2/access", "");
  const KernelSide side = gather_kernel_side(root_);
  EXPECT_EQ(side.secure_boot, Reading<bool>(true));
  EXPECT_EQ(side.module_installed, Reading<bool>(true));
  EXPECT_FALSE(side.module_version.get());
  EXPECT_THAT(side.hollow_instances, ElementsAre(HollowInstance{1, 2}));
  const auto files = gather_device_files(root_, OpenWhich::all, clock_);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, "/dev/nvidiactl");
  EXPECT_EQ(files[0].access, FileAccess::opens);
}

TEST_F(World, FilesOfOtherMakersAreLookedAtAndNotOpened) {
  put("dev/sda", "");
  put("dev/dri/card0", "");
  put("dev/kfd", "");
  put("dev/davinci_manager", "");
  put("dev/dri/renderD128", "");
  const auto files = gather_device_files(root_, OpenWhich::all, clock_);
  std::vector<std::string> paths;
  for (const DeviceFile& file : files) paths.push_back(file.path);
  EXPECT_THAT(paths, ::testing::UnorderedElementsAre("/dev/kfd", "/dev/davinci_manager",
                                                     "/dev/dri/renderD128"));
}

TEST_F(World, LibrariesAndToolkit) {
  put("libs/libcudnn.so.9.1.0", "");
  put("libs/libcudnn.so.9", "");
  put("usr/local/cuda-12.8/bin/nvcc", "", 0755);
  put("usr/local/cuda-12.8/version.json", R"({"cuda": {"name": "SDK", "version": "12.8.1"}})");
  std::filesystem::create_directory_symlink(at("usr/local/cuda-12.8"), at("usr/local/cuda"));
  const Libraries found =
      gather_libraries(root_, {at("libs")}, "",
                       "/gone.so:libfine.so:/home/u/.cache/berth/guard/0/berth-shim.so:"
                       "/home/u/.cache/berth/guard/0/$LIB/libcuda.so.1");
  ASSERT_FALSE(found.found.empty());
  EXPECT_EQ(found.found[0].version, "9.1.0");
  EXPECT_EQ(found.toolkit, "/usr/local/cuda-12.8");
  EXPECT_EQ(found.nvcc_version, (TwoPart{12, 8}));
  EXPECT_EQ(found.toolkit_version, (TwoPart{12, 8}));
  EXPECT_FALSE(found.nvcc_in_path);
  EXPECT_THAT(found.preload_missing, ElementsAre("/gone.so"));
  const std::string bin = at("usr/local/cuda-12.8/bin");
  EXPECT_TRUE(gather_libraries(root_, {}, bin, "").nvcc_in_path);
}

TEST_F(World, LibrariesAreNamedWithTheVersionsOfTheirFiles) {
  put("libs/libcublas.so.12.8.4.1", "");
  put("libs/libcublasLt.so.12.8.4.1", "");
  put("libs/libcudart.so.12.8.90", "");
  put("libs/libcudart.so", "");
  put("libs/libnccl.so.2.26.2", "");
  const std::string libs = at("libs");
  EXPECT_THAT(
      gather_libraries(root_, {libs}, "", "").found,
      ElementsAre(
          FoundLibrary{"libcudart", libs + "/libcudart.so.12.8.90", "12.8.90", "LD_LIBRARY_PATH"},
          FoundLibrary{"libcublas", libs + "/libcublas.so.12.8.4.1", "12.8.4.1", "LD_LIBRARY_PATH"},
          FoundLibrary{"libnccl", libs + "/libnccl.so.2.26.2", "2.26.2", "LD_LIBRARY_PATH"}));
}

TEST_F(World, LibraryThatIsALinkHasTheFileBehindIt) {
  put("toolkit/stubs/libcuda.so", "");
  put("libs/x", "");
  std::filesystem::create_symlink(at("toolkit/stubs/libcuda.so"), at("libs/libcuda.so.1"));
  const auto found = gather_libraries(root_, {at("libs")}, "", "").found;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, at("libs/libcuda.so.1"));
  EXPECT_TRUE(found[0].behind.ends_with("/toolkit/stubs/libcuda.so")) << found[0].behind;
}

TEST_F(World, PreloadedLibrariesAreThoseOfTheFilesBehindTheLinks) {
  put("libs/libnccl.so.2.28.3", "");
  std::filesystem::create_symlink(at("libs/libnccl.so.2.28.3"), at("libs/libnccl.so.2"));
  const Libraries found =
      gather_libraries(root_, {}, "", at("libs/libnccl.so.2") + ":libjemalloc.so libcuda.so.1");
  EXPECT_THAT(found.preloaded,
              ElementsAre(FoundLibrary{"libnccl", at("libs/libnccl.so.2"), "2.28.3", "LD_PRELOAD"},
                          FoundLibrary{"libcuda", "libcuda.so.1", "", "LD_PRELOAD"}));
  EXPECT_THAT(found.preload_missing, IsEmpty());
}

TEST_F(World, CudaHomeIsThereOrNot) {
  put("cuda-12.4/version.json", R"({"cuda": {"name": "SDK", "version": "12.4.1"}})");
  const CudaHome home = gather_cuda_home("CUDA_HOME", at("cuda-12.4"));
  EXPECT_TRUE(home.is_there);
  EXPECT_EQ(home.version, (TwoPart{12, 4}));
  EXPECT_FALSE(gather_cuda_home("CUDA_HOME", at("gone")).is_there);
}

TEST_F(World, ContainerToolsAreFoundByTheirFiles) {
  const auto look = [&](const std::string& home = "") {
    return gather_container_tools(root_, at("path"), home);
  };
  EXPECT_EQ(look(), ContainerTools{});
  put("run/docker.sock", "");
  put("usr/bin/dockerd", "");
  put("usr/bin/podman", "");
  put("etc/cdi/other.yaml", "cdiVersion: 0.6.0\nkind: vendor.org/net\n");
  put("etc/docker/daemon.json", "{\"log-level\": \"warn\"}");
  const ContainerTools bare = look();
  ASSERT_EQ(bare.engines.size(), 1U) << "docker once; that podman is installed says nothing";
  EXPECT_EQ(bare.engines[0].path, "/run/docker.sock");
  EXPECT_EQ(bare.toolkit, "");
  EXPECT_EQ(bare.cdi_spec, "") << "another vendor's";
  put("home/.local/share/containers/storage/storage.lock", "");
  EXPECT_EQ(look("/home").engines.back().name, "podman") << "it was used";
  put("var/run/cdi/nvidia.yaml", "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\n");
  EXPECT_EQ(look().cdi_spec, "/var/run/cdi/nvidia.yaml");
}

TEST_F(World, ContainerToolkitIsFoundInPathInUsualPlacesAndInSettings) {
  const auto toolkit = [&] { return gather_container_tools(root_, at("path"), "").toolkit; };
  put("etc/docker/daemon.json",
      R"({"runtimes": {"nvidia": {"path": "/srv/toolkit/nvidia-container-runtime"}}})");
  EXPECT_EQ(toolkit(), "/etc/docker/daemon.json");
  put("usr/local/nvidia/toolkit/nvidia-container-runtime", "");
  EXPECT_EQ(toolkit(), "/usr/local/nvidia/toolkit/nvidia-container-runtime");
  put("path/nvidia-ctk", "#!/bin/sh\n", 0755);
  EXPECT_EQ(toolkit(), at("path/nvidia-ctk"));
}

TEST_F(World, EnvironmentIsReadFromItsFilesWithoutRunningAnything) {
  put("venv/bin/python", "not a program", 0755);
  put("venv/pyvenv.cfg", "version = 3.11.2\n");
  const std::string site = "venv/lib/python3.11/site-packages/";
  put(site + "torch-2.3.1.dist-info/INSTALLER", "pip\n");
  put(site + "torch/version.py", "__version__ = '2.3.1'\ncuda = None\n");
  put(site + "jaxlib-0.4.30.dist-info/INSTALLER", "uv\n");
  put(site + "jaxlib/x", "");
  put(site + "jax_cuda12_plugin-0.4.30.dist-info/METADATA", "");
  const auto python = gather_python_environment({.given = at("venv"), .may_run = false}, clock_);
  ASSERT_TRUE(python) << python.error().message();
  EXPECT_EQ(python->version, (TwoPart{3, 11}));
  ASSERT_NE(python->framework("torch"), nullptr);
  EXPECT_EQ(python->framework("torch")->cuda, Cuda(std::optional<TwoPart>()));
  EXPECT_EQ(python->framework("torch")->installer, "pip");
  EXPECT_EQ(python->framework("jax")->cuda, Cuda(TwoPart{12, 0}));
  EXPECT_FALSE(gather_python_environment({.given = at("none")}, clock_));
}

TEST_F(World, EnvironmentThatSeesTheSystemsPackagesHasThemWithoutRunningAnything) {
  put("venv/bin/python", "not a program", 0755);
  put("venv/lib/python3.11/site-packages/jaxlib-0.4.30.dist-info/INSTALLER", "pip\n");
  put("venv/lib/python3.11/site-packages/jaxlib/x", "");
  put("base/lib/python3/dist-packages/torch/version.py", "__version__ = '2.3.1'\ncuda = None\n");
  put("base/local/lib/python3.11/dist-packages/torch/version.py", "__version__ = '2.4.0'\n");
  put("home/.local/lib/python3.11/site-packages/torch/version.py", "__version__ = '2.5.0'\n");
  PythonQuestion question{
      .given = at("venv"), .environment = {"HOME=" + at("home")}, .may_run = false, .root = root_};
  const auto torch = [&](const std::string& shared) {
    put("venv/pyvenv.cfg", "home = " + at("base/bin") + "\ninclude-system-site-packages = " +
                               shared + "\nversion = 3.11.2\n");
    const auto python = gather_python_environment(question, clock_);
    EXPECT_NE(python->framework("jax"), nullptr);
    const FrameworkBuild* build = python->framework("torch");
    return build == nullptr ? "" : build->version;
  };
  EXPECT_EQ(torch("false"), "");
  EXPECT_EQ(torch("true"), "2.5.0") << "the user's own come before the system's";
  question.environment.emplace_back("PYTHONNOUSERSITE=1");
  EXPECT_EQ(torch("True"), "2.4.0") << "and those installed by hand before Debian's";
  put("mine/torch/version.py", "__version__ = '2.6.0'\n");
  question.environment.push_back("PYTHONPATH=:" + at("mine"));
  EXPECT_EQ(torch("true"), "2.6.0") << "before all of them what PYTHONPATH names";
  question.environment.pop_back();
  ASSERT_GT(std::filesystem::remove_all(at("base/local")), 0U);
  EXPECT_EQ(torch("true"), "2.3.1");
}

TEST_F(World, CondaEnvironmentHasItsChannelsWhereTheUserNamesThem) {
  put("conda/bin/python", "not a program", 0755);
  put("conda/conda-meta/history", "");
  put("conda/lib/python3.11/site-packages/x", "");
  put("home/.condarc", "channels:\n  - https://m/conda\n");
  PythonQuestion question{
      .given = at("conda"), .environment = {"HOME=" + at("home")}, .may_run = false, .root = root_};
  EXPECT_EQ(gather_python_environment(question, clock_)->channels_source, at("home/.condarc"));
  put("own", "channel_alias: https://other\n");
  question.environment.push_back("CONDARC=" + at("own"));
  EXPECT_EQ(gather_python_environment(question, clock_)->channels_source, at("own"));
  question.environment.clear();
  EXPECT_EQ(gather_python_environment(question, clock_)->channels_source, "");
}

TEST_F(World, InterpreterThatHangsIsEndedWithAllItStarted) {
  put("hang", "#!/bin/sh\nprintf 'torch\\tbegin\\t\\n'\nsleep 300 &\nwait\n", 0755);
  const PythonEnvironment python{.interpreter = at("hang"), .frameworks = {{.name = "torch"}}};
  const auto said = ask_by_import(python, {}, clock_, std::chrono::milliseconds(300));
  EXPECT_EQ(said.end, ImportEnd::took_too_long);
  put("crash", "#!/bin/sh\nkill -SEGV $$\n", 0755);
  EXPECT_EQ(ask_by_import({.interpreter = at("crash"), .frameworks = {{.name = "torch"}}}, {},
                          clock_, std::chrono::seconds(20))
                .end,
            ImportEnd::crashed);
  EXPECT_EQ(ask_by_import({.interpreter = at("none"), .frameworks = {{.name = "torch"}}}, {},
                          clock_, std::chrono::seconds(20))
                .end,
            ImportEnd::not_started);
}

TEST(ImportAnswers, AreFoundByTheNameOfTheFramework) {
  PythonEnvironment python;
  EXPECT_EQ(python.said_of("torch"), nullptr) << "it was not asked";
  python.said.frameworks = {{.name = "torch", .devices = 2}, {.name = "tensorflow", .devices = 1}};
  ASSERT_NE(python.said_of("tensorflow"), nullptr);
  EXPECT_EQ(python.said_of("tensorflow")->devices, 1);
}

TEST(ImportAnswers, AreReadByFrameworkAndKey) {
  const auto said = parse_import_answer(
      "torch\tbegin\t\ntorch\tsees\tTrue\ntorch\tdevices\t2\ntorch\tarchitectures\tsm_80 sm_90a\n"
      "noise\ntensorflow\tbegin\t\ntensorflow\terror\tImportError: x\n");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].sees_gpu, true);
  EXPECT_EQ(said[0].devices, 2);
  EXPECT_THAT(said[0].architectures, ElementsAre(ComputeCapability{8, 0}, ComputeCapability{9, 0}));
  EXPECT_EQ(said[1].error, "ImportError: x");
}

TEST(CudaAnswers, AreReadAndALibraryThatIsNotThereIsSaid) {
  const auto answer = parse_cuda_answer("device\tab\tX\nerror\tcuDeviceGet\t999\n");
  EXPECT_THAT(answer.devices, ElementsAre(CudaDevice{"ab", "X"}));
  EXPECT_EQ(answer.code, 999);
  SystemClock clock;
  EXPECT_THAT(ask_cuda("/nonexistent/libcuda.so.1", clock, std::chrono::seconds(20)).problem,
              HasSubstr("cannot open"));
}

TEST_F(World, WorkingDirectoryHasItsSizeAndWhatOpeningAFileTakes) {
  put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  put("work/a.bin", "text");
  put("work/b.bin", "");
  const auto here = gather_directory(at("work"), root_, clock_);
  EXPECT_EQ(here.file_system, "ext4");
  ASSERT_TRUE(here.free.get() && here.total.get());
  EXPECT_LE(here.free.get()->count(), here.total.get()->count());
  ASSERT_TRUE(here.open_microseconds.get());
  EXPECT_GE(*here.open_microseconds.get(), 0);
  ASSERT_TRUE(make_directories(at("empty")));
  EXPECT_EQ(gather_directory(at("empty"), root_, clock_).open_microseconds,
            Reading<std::int64_t>(Absent::unsupported))
      << "there is no file to open";
  const auto gone = gather_directory(at("gone"), root_, clock_);
  EXPECT_EQ(gone.free, Reading<Bytes>(Absent::failed));
  EXPECT_EQ(gone.open_microseconds, Reading<std::int64_t>(Absent::failed));
}

TEST_F(World, ReadingSpeedIsThatOfTheLargestFile) {
  put("work/small.bin", "text");
  put("work/large.bin", std::string(300'000, 'x'));
  std::filesystem::create_symlink("/dev/zero", at("work/link"));
  ASSERT_EQ(::mkfifo(at("work/pipe").c_str(), 0600), 0);
  const auto read = gather_read_speed(at("work"), "ext4", clock_);
  ASSERT_TRUE(read.get());
  EXPECT_EQ(read.get()->file, "large.bin");
  EXPECT_EQ(read.get()->bytes, Bytes{300'000});
  EXPECT_GT(read.get()->megabytes_per_second(), 0);
  ASSERT_TRUE(read.get()->cached.get()) << "it is ours";
  EXPECT_GE(*read.get()->cached.get(), 0);
  EXPECT_LE(*read.get()->cached.get(), 1);
  EXPECT_EQ(gather_read_speed(at("work"), "zfs", clock_).get()->cached,
            Reading<double>(Absent::unsupported));
}

TEST_F(World, NoFileIsReadWhereNoneIsThereOrNobodyAsked) {
  ASSERT_TRUE(make_directories(at("empty/folder")));
  put("empty/nothing.bin", "");
  EXPECT_EQ(gather_read_speed(at("empty"), "ext4", clock_),
            Reading<ReadSpeed>(Absent::unsupported));
  EXPECT_EQ(gather_directory(at("empty"), root_, clock_).read_speed,
            Reading<ReadSpeed>(Absent::not_sampled));
}

/// What is silent where there is no time at all: mostly all of them, as a child that was forked
/// just now is rarely done already.
std::vector<std::string> silent_at_once(const std::vector<std::string>& folders, Clock& clock,
                                        std::size_t all) {
  std::vector<std::string> silent;
  for (int tries = 0; tries < 100 && silent.size() != all; ++tries) {
    silent = silent_folders(folders, clock, Duration(0));
  }
  return silent;
}

TEST_F(World, FoldersThatHaveNotAnsweredInTheirTimeAreSilentEachOnce) {
  EXPECT_THAT(silent_at_once({root_, root_, at("a")}, clock_, 2), ElementsAre(root_, at("a")));
  EXPECT_THAT(
      silent_at_once({"/1", "/2", "/3", "/4", "/5"}, clock_, 4),
      testing::AllOf(testing::SizeIs(4), testing::IsSubsetOf({"/1", "/2", "/3", "/4", "/5"})))
      << "four are enough, and one may have answered";
}

TEST_F(World, FoldersThatAnswerAreNotSilent) {
  EXPECT_THAT(silent_folders({root_, at("none"), "/"}, clock_, std::chrono::seconds(20)),
              IsEmpty());
}

}  // namespace
}  // namespace berth
