// The probe through the real dlopen path, against the fake libnvidia-ml.so.1 (tests/fakes/nvml)
// with the symbols of one driver after another, and with each function failing in each way.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "probe/nvml/answers.h"
#include "probe/nvml/api.h"
#include "probe/nvml/nvml_probe.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"

namespace berth::nvml {
namespace {

using namespace berth::literals;
using ::testing::IsEmpty;

constexpr WallTime now{1'760'000'000'000};

std::string library(const std::string& list) {
  return std::string(BERTH_FAKE_NVML_LIBRARIES) + "/" + list + "/libnvidia-ml.so.1";
}

/// SIMULATED, with the numbers of the capture of an H100 80GB HBM3 under driver 590.48.01 where it
/// has them: every reading that NVML can give is present.
Device h100(int index) {
  Device device;
  device.kind = DeviceKind::nvidia_gpu;
  device.index = index;
  device.name = std::string("NVIDIA H100 80GB HBM3");
  device.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index);
  device.id = DeviceId(*device.uuid.get());
  device.pci_address = "00000000:" + std::to_string(17 + index) + ":00.0";
  device.pci_id = std::string("10de:2330");
  device.kernel_driver = std::string("nvidia");
  device.serial = std::string("1650000000000");
  device.vbios_version = std::string("96.00.CF.00.01");
  device.minor_number = std::uint64_t{7} - static_cast<std::uint64_t>(index);
  device.architecture = std::string("Hopper");
  device.compute_capability = ComputeCapability{9, 0};
  device.cuda_cores = std::uint64_t{16896};
  device.multiprocessors = std::uint64_t{132};
  device.memory_bus_width = std::uint64_t{5120};
  device.memory_bandwidth = BytesPerSecond(3'352'320'000'000);
  device.numa_node = std::uint64_t{1};
  device.brand = std::string("NVIDIA");
  device.persistence_mode = true;
  device.mig_mode = device.display_active = device.display_attached = false;
  device.ecc_mode = true;
  device.compute_mode = std::string("Default");
  device.performance_state = std::uint64_t{0};
  device.memory_total = 81559_MiB;
  device.memory_used = 1024_MiB;
  device.memory_free = 79900_MiB;
  device.memory_reserved = 635_MiB;
  device.utilization_gpu = 42_percent;
  device.utilization_memory = 7_percent;
  device.utilization_encoder = device.utilization_decoder = 0_percent;
  device.utilization_history = std::vector<UtilizationSample>{{Milliseconds(100), Percent(42)},
                                                              {Milliseconds(300), Percent(40)}};
  device.temperature = 31_celsius;
  device.temperature_memory = 40_celsius;
  device.temperature_slowdown = 89_celsius;
  device.fan_speed = Absent::unsupported;
  device.power_draw = Milliwatts(69850);
  device.power_limit = device.power_limit_default = 700_watts;
  device.energy = Millijoules(123'456'789);
  device.clock_graphics = device.clock_sm = 345_MHz;
  device.clock_memory = device.clock_memory_max = 2619_MHz;
  device.clock_graphics_max = device.clock_sm_max = 1980_MHz;
  device.throttle_reasons = std::uint64_t{1};
  device.pcie_generation = device.pcie_generation_max = std::uint64_t{5};
  device.pcie_width = device.pcie_width_max = std::uint64_t{16};
  device.pcie_sent = Bytes(111);
  device.pcie_received = Bytes(222);
  device.pcie_replays = std::uint64_t{0};
  device.ecc_corrected = device.ecc_uncorrected = std::uint64_t{0};
  device.process_count = std::uint64_t{1};
  return device;
}

Snapshot server() {
  Snapshot host{.taken = now};
  host.host.driver_version = std::string("590.48.01");
  host.host.nvml_version = std::string("13.590.48.01");
  host.host.cuda_version_supported = std::string("13.1");
  for (int i = 0; i < 3; ++i) {
    host.devices.push_back(h100(i));
    host.gpu_processes.push_back({.device = host.devices.back().id,
                                  .pid = 1000 + i,
                                  .use = GpuUse::compute,
                                  .memory = 1000_MiB,
                                  .utilization_sm = Percent(40)});
  }
  return host;
}

class NvmlFake : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("BERTH_FAKE_NVML_NOW_MS", "1760000000000", 1);
    unsetenv("BERTH_FAKE_NVML_FAULTS");
    unsetenv("BERTH_FAKE_NVML_PROCESS_LAYOUT");
    play(server());
  }
  void TearDown() override { unsetenv("BERTH_FAKE_NVML_FAULTS"); }
  void play(const Snapshot& machine) {
    const std::string path = directory / "machine.json";
    ASSERT_TRUE(write_file_atomically(path, to_json(machine, JsonLayout::compact)));
    setenv("BERTH_FAKE_NVML", path.c_str(), 1);
  }
  static void faults(const std::string& text) { setenv("BERTH_FAKE_NVML_FAULTS", text.c_str(), 1); }
  static Snapshot look(const std::string& list = "all") {
    NvmlProbe probe({.library = library(list), .proc = "/nonexistent"});
    Snapshot snapshot{.taken = now};
    probe.observe(snapshot);
    return snapshot;
  }
  TemporaryDirectory temporary;
  std::filesystem::path directory = temporary.path();
};

TEST_F(NvmlFake, WhatTheSnapshotSaysIsWhatTheProbeReads) {
  const Snapshot said = server();
  const Snapshot got = look();
  ASSERT_EQ(got.devices.size(), 3U);
  for (const Field& field : fields()) {
    EXPECT_EQ(field.read(got.devices[1], got), field.read(said.devices[1], said)) << field.key;
  }
  EXPECT_EQ(got.devices, said.devices);
  EXPECT_EQ(got.gpu_processes, said.gpu_processes);
  EXPECT_EQ(got.host, said.host);
  EXPECT_THAT(got.problems, IsEmpty());
}

TEST_F(NvmlFake, EveryNameWeLookUpExistsInARealLibraryOrTheNewestHeader) {
  std::set<std::string, std::less<>> real;
  for (const auto& file : std::filesystem::directory_iterator(BERTH_NVML_SYMBOL_LISTS)) {
    if (file.path().filename().string().starts_with("simulated")) continue;
    std::ifstream lines(file.path());
    for (std::string name; std::getline(lines, name);) real.insert(name);
  }
  for (const std::string_view name : symbols()) EXPECT_TRUE(real.contains(name)) << name;
}

TEST_F(NvmlFake, ALibraryExportsTheSymbolsOfItsListAndNoOther) {
  for (const char* list : {"real-390.157", "real-550.163.01"}) {
    void* handle = dlopen(library(list).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto text = read_file(std::string(BERTH_NVML_SYMBOL_LISTS) + "/" + list + ".syms");
    ASSERT_TRUE(text);
    for (const std::string_view name : symbols()) {
      const std::string line = std::string(name) + "\n";
      const bool listed = text->starts_with(line) || text->find("\n" + line) != std::string::npos;
      EXPECT_EQ(dlsym(handle, std::string(name).c_str()) != nullptr, listed) << list << " " << name;
    }
    dlclose(handle);
  }
}

TEST_F(NvmlFake, EveryDriverTellsIdentityMemoryLoadAndProcesses) {
  for (const auto& file : std::filesystem::directory_iterator(BERTH_FAKE_NVML_LIBRARIES)) {
    const std::string list = file.path().filename();
    const Snapshot got = look(list);
    ASSERT_EQ(got.devices.size(), 3U) << list;
    const Device& device = got.devices[2];
    EXPECT_EQ(device.id, h100(2).id) << list;
    EXPECT_EQ(device.memory_total.get(), 81559_MiB) << list;
    EXPECT_EQ(device.cuda_cores.get(), 16896U) << list;
    EXPECT_EQ(device.multiprocessors.get(), 132U) << list;
    EXPECT_EQ(device.architecture.get(), "Hopper") << list;
    EXPECT_EQ(device.temperature.get(), 31_celsius) << list;
    EXPECT_EQ(device.throttle_reasons.get(), 1U) << list;
    EXPECT_EQ(device.utilization_history.get()->size(), 2U) << list;
    EXPECT_EQ(got.gpu_processes, server().gpu_processes) << list;
    EXPECT_EQ(got.host.cuda_version_supported.get(), "13.1") << list;
    EXPECT_THAT(got.problems, IsEmpty()) << list;
  }
}

TEST_F(NvmlFake, AnOldDriverCountsReservedMemoryAsUsedAndKnowsNoBusWidth) {
  const Device device = look("real-390.157").devices[0];
  EXPECT_EQ(device.memory_used.get(), 1659_MiB);
  EXPECT_EQ(device.memory_reserved, Reading<Bytes>(Absent::unsupported));
  EXPECT_EQ(device.memory_bus_width, Reading<std::uint64_t>(Absent::unsupported));
  EXPECT_EQ(device.mig_mode, Reading<bool>(Absent::unsupported));
}

TEST_F(NvmlFake, EntriesOfEarly535DriversAreReadByTheirOwnLayout) {
  Snapshot machine = server();
  machine.gpu_processes.push_back({machine.devices[0].id, 77, GpuUse::both, 5_MiB, Percent(1), {}});
  play(machine);
  setenv("BERTH_FAKE_NVML_PROCESS_LAYOUT", "535", 1);
  const auto got = look("simulated-535.54.03").gpu_processes;
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[0].pid, 77);
  EXPECT_EQ(got[0].use, GpuUse::both);
  EXPECT_EQ(got[0].memory.get(), 5_MiB);
  EXPECT_EQ(got[1].pid, 1000);
  EXPECT_EQ(got[1].memory.get(), 1000_MiB);
}

TEST_F(NvmlFake, MigInstancesAreDevicesWithTheirOwnMemoryAndProcesses) {
  Snapshot machine = server();
  machine.gpu_processes.clear();
  machine.devices[1].mig_mode = true;
  machine.devices[1].utilization_gpu = Absent::unsupported;
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = machine.devices[1].id;
  instance.mig = MigPlace{9, 0};
  instance.index = 1;
  instance.uuid = std::string("MIG-00000000-0000-0000-0000-000000000009");
  instance.id = DeviceId(*instance.uuid.get());
  instance.name = std::string("NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  instance.multiprocessors = std::uint64_t{16};
  instance.memory_total = 9984_MiB;
  instance.memory_used = 100_MiB;
  instance.memory_free = 9884_MiB;
  machine.devices.insert(machine.devices.begin() + 2, instance);
  machine.gpu_processes.push_back(
      {instance.id, 55, GpuUse::compute, 90_MiB, Absent::unsupported, {}});
  play(machine);
  for (const char* fault : {"", "nvmlDeviceGetComputeRunningProcesses_v3@1=4"}) {
    faults(fault);
    const Snapshot got = look();
    ASSERT_EQ(got.devices.size(), 4U) << fault;
    EXPECT_EQ(got.devices[2].id, instance.id);
    EXPECT_EQ(got.devices[2].parent, machine.devices[1].id);
    EXPECT_EQ(got.devices[2].mig, instance.mig);
    EXPECT_EQ(got.devices[2].cuda_cores.get(), 16U * 128U);
    EXPECT_EQ(got.devices[2].memory_free.get(), 9884_MiB);
    EXPECT_EQ(got.devices[2].power_draw, Reading<Milliwatts>(Absent::unsupported));
    ASSERT_EQ(got.gpu_processes.size(), 1U) << fault;
    EXPECT_EQ(got.gpu_processes[0].device, instance.id) << fault;
    EXPECT_EQ(got.gpu_processes[0].mig, instance.mig) << fault;
    Device untouched = machine.devices[3];
    untouched.process_count = std::uint64_t{0};
    EXPECT_EQ(got.devices[3], untouched) << fault;
  }
}

TEST_F(NvmlFake, ADeviceThatWasLostBeforeIsARowByItsPlaceOnTheBus) {
  Snapshot machine = server();
  machine.devices[1].lost = true;
  play(machine);
  const std::filesystem::path proc = directory / "proc";
  for (const char* address : {"0000:17:00.0", "0000:18:00.0", "0000:19:00.0"}) {
    std::filesystem::create_directories(proc / "driver/nvidia/gpus" / address);
  }
  NvmlProbe probe({.library = library("all"), .proc = proc});
  Snapshot got{.taken = now};
  probe.observe(got);
  ASSERT_EQ(got.devices.size(), 3U);
  EXPECT_TRUE(got.devices[1].lost);
  EXPECT_EQ(got.devices[1].id, DeviceId("00000000:18:00.0"));
  EXPECT_EQ(got.devices[2], machine.devices[2]);
  EXPECT_EQ(got.gpu_processes.size(), 2U);
}

TEST_F(NvmlFake, StateAloneIsEnoughForPlacement) {
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"}, Depth::state);
  Snapshot got{.taken = now};
  probe.observe(got);
  const Device& device = got.devices.at(0);
  EXPECT_EQ(device.memory_free.get(), 79900_MiB);
  EXPECT_TRUE(device.utilization_history.get());
  EXPECT_TRUE(device.compute_capability.get());
  EXPECT_TRUE(device.compute_mode.get());
  EXPECT_EQ(device.serial, Reading<std::string>(Absent::not_sampled));
  EXPECT_EQ(got.gpu_processes.size(), 3U);
}

TEST_F(NvmlFake, AMissingAndABrokenLibraryAreTwoProblems) {
  NvmlProbe missing({.library = directory / "none.so", .proc = "/nonexistent"});
  EXPECT_EQ(missing.open().error().code, "library_not_found");
  const std::string broken = directory / "broken.so";
  ASSERT_TRUE(write_file_atomically(broken, "no library"));
  NvmlProbe unusable({.library = broken, .proc = "/nonexistent"});
  EXPECT_EQ(unusable.open().error().code, "library_unusable");
}

TEST_F(NvmlFake, AVersionMismatchNamesTheKernelModuleOfProc) {
  const std::filesystem::path proc = directory / "proc";
  std::filesystem::create_directories(proc / "driver/nvidia");
  ASSERT_TRUE(write_file_atomically(
      proc / "driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.80  Release Build\nGCC 12\n"));
  faults("nvmlInit_v2=18;nvmlSystemGetNVMLVersion=lie:13.610.10");
  NvmlProbe probe({.library = library("all"), .proc = proc});
  const Problem problem = probe.open().error();
  EXPECT_EQ(problem.code, "version_mismatch");
  EXPECT_THAT(problem.message, ::testing::HasSubstr("kernel module is 595.80"));
  EXPECT_THAT(problem.message, ::testing::HasSubstr("library is 610.10"));
}

// Which readings may hold another value when something of the device fails: a fallback counts
// differently, and is documented to.
bool may_differ(std::string_view key) {
  return key == "memory_used_bytes" || key == "id" || key == "users" || key == "state" ||
         key == "memory_unexplained_bytes";
}

TEST_F(NvmlFake, WhateverFailsOnOneDeviceIsAbsentThereAndChangesNoOther) {
  void* kept_loaded = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(kept_loaded, nullptr) << dlerror();
  const Snapshot sound = look();
  int changed = 0;
  for (const std::string_view function : symbols()) {
    if (!function.starts_with("nvmlDevice")) continue;
    for (const int code : {2, 3, 4, 6, 7, 10, 13, 15, 16, 17, 21, 25, 26, 27, 999}) {
      const std::string fault = fmt::format("{}@1={}", function, code);
      faults(fault);
      const Snapshot got = look();
      ASSERT_EQ(got.devices.size(), 3U) << fault;
      EXPECT_EQ(got.devices[0], sound.devices[0]) << fault;
      EXPECT_EQ(got.devices[2], sound.devices[2]) << fault;
      EXPECT_TRUE(std::count(got.gpu_processes.begin(), got.gpu_processes.end(),
                             sound.gpu_processes[2]) == 1)
          << fault;
      for (const Field& field : fields()) {
        const Cell before = field.read(sound.devices[1], sound);
        const Cell after = field.read(got.devices[1], got);
        changed += before == after ? 0 : 1;
        if (!after.get() || may_differ(field.key)) continue;
        EXPECT_EQ(before, after) << fault << " " << field.key;
      }
      if (code == gpu_is_lost && !(got.devices[1] == sound.devices[1])) {
        EXPECT_TRUE(got.devices[1].lost) << fault;
      }
    }
  }
  EXPECT_GT(changed, 500) << "the faults reach the probe";
  dlclose(kept_loaded);
}

TEST_F(NvmlFake, SkipsADeviceThatIsNotToBeAsked) {
  faults("*@1=hang");
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  ASSERT_EQ(probe.open(), 3);
  EXPECT_EQ(probe.observe_device(0, Depth::everything, now).devices.at(0), h100(0));
  EXPECT_EQ(probe.skipped_device(1).devices.at(0).index, 1);
  EXPECT_EQ(probe.observe_device(2, Depth::everything, now).devices.at(0), h100(2));
}

}  // namespace
}  // namespace berth::nvml
