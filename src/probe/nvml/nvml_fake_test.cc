// The probe through the real dlopen path, against the fake libnvidia-ml.so.1 (tests/fakes/nvml). It
// has the symbols of one driver after another, and each function fails in each way.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <tuple>

#include "base/text.h"
#include "probe/nvml/answers.h"
#include "probe/nvml/api.h"
#include "probe/nvml/fake_machine_test.h"
#include "snapshot/device_fault.h"
#include "snapshot/fields.h"

namespace berth::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
    EXPECT_EQ(device.throttle_reasons.get(), ClockReasons(1)) << list;
    EXPECT_EQ(device.utilization_history.get()->size(), 2U) << list;
    EXPECT_EQ(got.gpu_processes, server().gpu_processes) << list;
    EXPECT_EQ(got.host.software_of(Runtime::cuda).runtime.get(), "13.1") << list;
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
  machine.gpu_processes.push_back({.device = machine.devices[0].id,
                                   .pid = 77,
                                   .use = GpuUse::both,
                                   .memory = 5_MiB,
                                   .utilization_sm = Percent(1)});
  play(machine);
  setenv("BERTH_FAKE_NVML_PROCESS_LAYOUT", "535", 1);
  const auto got = look("simulated-535.54.03").gpu_processes;
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[0].pid, 1000);
  EXPECT_EQ(got[0].memory.get(), 1000_MiB);
  EXPECT_EQ(got[1].pid, 77);
  EXPECT_EQ(got[1].use, GpuUse::both);
  EXPECT_EQ(got[1].memory.get(), 5_MiB);
}

TEST_F(NvmlFake, ProcessesComeInTheDriversOrderThoseThatComputeFirst) {
  Snapshot machine = server();
  machine.gpu_processes.clear();
  const auto add = [&](pid_t pid, GpuUse use) {
    machine.gpu_processes.push_back(
        {.device = machine.devices[0].id, .pid = pid, .use = use, .memory = 5_MiB});
  };
  add(1696, GpuUse::graphics);
  add(5268, GpuUse::compute);
  add(5267, GpuUse::both);
  play(machine);
  std::vector<pid_t> pids;
  for (const GpuProcess& process : look("all").gpu_processes) pids.push_back(process.pid);
  EXPECT_THAT(pids, ElementsAre(5268, 5267, 1696));
}

TEST_F(NvmlFake, MigInstancesAreDevicesWithTheirOwnMemoryAndProcesses) {
  Snapshot machine = server();
  machine.gpu_processes.clear();
  machine.devices[1].mig_mode = true;
  machine.devices[1].utilization_gpu = Absent::unsupported;
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = machine.devices[1].id;
  instance.partition = Partition{9, 0};
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
      {.device = instance.id, .pid = 55, .memory = 90_MiB, .utilization_sm = Absent::unsupported});
  play(machine);
  for (const char* fault : {"", "nvmlDeviceGetComputeRunningProcesses_v3@1=4"}) {
    faults(fault);
    const Snapshot got = look();
    ASSERT_EQ(got.devices.size(), 4U) << fault;
    EXPECT_EQ(got.devices[2].id, instance.id);
    EXPECT_EQ(got.devices[2].parent, machine.devices[1].id);
    EXPECT_EQ(got.devices[2].partition, instance.partition);
    EXPECT_EQ(got.devices[2].cuda_cores.get(), 16U * 128U);
    EXPECT_EQ(got.devices[2].memory_free.get(), 9884_MiB);
    EXPECT_EQ(got.devices[2].power_draw, Reading<Milliwatts>(Absent::unsupported));
    ASSERT_EQ(got.gpu_processes.size(), 1U) << fault;
    EXPECT_EQ(got.gpu_processes[0].device, instance.id) << fault;
    EXPECT_EQ(got.gpu_processes[0].partition, instance.partition) << fault;
    Device untouched = machine.devices[3];
    untouched.process_count = std::uint64_t{0};
    EXPECT_EQ(got.devices[3], untouched) << fault;
  }
}

/// One card that MIG divides into one instance.
Snapshot divided_server() {
  Snapshot machine = server();
  machine.devices.resize(1);
  machine.gpu_processes.clear();
  Device& card = machine.devices.front();
  card.mig_mode = true;
  card.utilization_gpu = card.utilization_memory = Absent::unsupported;
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = card.id;
  instance.partition = Partition{9, 0};
  instance.index = 0;
  instance.uuid = std::string("MIG-00000000-0000-0000-0000-000000000009");
  instance.id = DeviceId(*instance.uuid.get());
  machine.devices.push_back(instance);
  return machine;
}

// The library stays initialised: nothing tells the probe but what it reads.
TEST_F(NvmlFake, ACardThatIsDividedAndMadeWholeAgainTellsEachTimeWhatItSupports) {
  setenv("BERTH_FAKE_NVML_LIVE", "1", 1);
  Snapshot whole = server();
  whole.devices.resize(1);
  whole.gpu_processes.clear();
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  for (const auto& [machine, utilization, count] :
       {std::tuple{divided_server(), Reading<Percent>(Absent::unsupported), 2U},
        std::tuple{whole, Reading<Percent>(42_percent), 1U},
        std::tuple{divided_server(), Reading<Percent>(Absent::unsupported), 2U}}) {
    play(machine);
    const Snapshot got = whole_look(probe, now);
    ASSERT_EQ(got.devices.size(), count);
    EXPECT_EQ(got.devices[0].mig_mode, machine.devices[0].mig_mode);
    EXPECT_EQ(got.devices[0].utilization_gpu, utilization);
    EXPECT_THAT(got.problems, IsEmpty());
  }
  unsetenv("BERTH_FAKE_NVML_LIVE");
}

TEST_F(NvmlFake, WhatAnAdministratorSwitchesOnIsReadAfterAWhile) {
  play(server());
  const std::string wrong = ::testing::TempDir() + "wrong-for-a-while";
  std::ofstream(wrong) << "nvmlDeviceGetTotalEccErrors@0=3";
  faults("@" + wrong);
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  EXPECT_EQ(whole_look(probe, now).devices[0].ecc_corrected,
            Reading<std::uint64_t>(Absent::unsupported));
  std::ofstream(wrong).close();
  Reading<std::uint64_t> read;
  for (int looks = 0; looks < 300 && !read.has_value(); ++looks) {
    read = whole_look(probe, now).devices[0].ecc_corrected;
  }
  EXPECT_EQ(read, Reading<std::uint64_t>(std::uint64_t{0}));
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
  const Snapshot got = whole_look(probe, now);
  ASSERT_EQ(got.devices.size(), 3U);
  EXPECT_TRUE(got.devices[1].lost);
  EXPECT_EQ(got.devices[1].id, DeviceId("00000000:18:00.0"));
  EXPECT_EQ(got.devices[2], machine.devices[2]);
  EXPECT_EQ(got.gpu_processes.size(), 2U);
}

TEST_F(NvmlFake, StateAloneIsEnoughForPlacement) {
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  const Snapshot got = whole_look(probe, now, Depth::state);
  const Device& device = got.devices.at(0);
  EXPECT_EQ(device.memory_free.get(), 79900_MiB);
  EXPECT_TRUE(device.utilization_history.get());
  EXPECT_TRUE(device.compute_capability.get());
  EXPECT_TRUE(device.compute_mode.get());
  EXPECT_EQ(device.serial, Reading<std::string>(Absent::not_sampled));
  EXPECT_EQ(got.gpu_processes.size(), 3U);
}

TEST_F(NvmlFake, StateAloneTellsWhatADeviceIsJudgedFailedBy) {
  Snapshot machine = server();
  Details& details = machine.devices[0].details;
  details.set(Detail::remapped_rows_failed, Reading<bool>(true));
  details.set(Detail::recovery_action, Reading<std::string>("Reboot"));
  details.set(Detail::unrepairable_memory, Reading<bool>(true));
  play(machine);
  for (const Depth depth : {Depth::state, Depth::everything}) {
    NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
    const Snapshot got = whole_look(probe, now, depth);
    const Details& read = got.devices.at(0).details;
    EXPECT_EQ(read.get<bool>(Detail::remapped_rows_failed), Reading<bool>(true));
    EXPECT_EQ(read.get<std::string>(Detail::recovery_action), Reading<std::string>("Reboot"));
    EXPECT_EQ(read.get<bool>(Detail::unrepairable_memory), Reading<bool>(true));
    EXPECT_EQ(read.entries().size(), 3U) << "what only the details are for is not asked";
  }
}

TEST_F(NvmlFake, AVerdictThatWasAskedForAndNotAnsweredIsFailedAtEveryDepth) {
  faults("nvmlDeviceGetFieldValues@0=999;nvmlDeviceGetUnrepairableMemoryFlag_v1@0=999");
  for (const Depth depth : {Depth::state, Depth::everything}) {
    NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
    const Snapshot got = whole_look(probe, now, depth);
    const auto failed = [](const Details& details, Detail verdict) {
      return details.cell(verdict) == Cell(Absent::failed);
    };
    for (const Detail verdict :
         {Detail::remapped_rows_failed, Detail::recovery_action, Detail::unrepairable_memory}) {
      EXPECT_TRUE(failed(got.devices.at(0).details, verdict)) << static_cast<int>(verdict);
      EXPECT_FALSE(failed(got.devices.at(1).details, verdict)) << static_cast<int>(verdict);
    }
  }
}

TEST_F(NvmlFake, AVerdictThatACardOrItsDriverDoesNotHaveIsLeftOut) {
  for (const Return code : {not_supported, function_not_found, invalid_argument}) {
    faults(fmt::format(
        "nvmlDeviceGetFieldValues@0={0};nvmlDeviceGetUnrepairableMemoryFlag_v1@0={0}", code));
    NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
    const Snapshot got = whole_look(probe, now, Depth::everything);
    EXPECT_TRUE(got.devices.at(0).details.entries().empty()) << code;
  }
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
  EXPECT_THAT(problem.message.english(), ::testing::HasSubstr("kernel module is 595.80"));
  EXPECT_THAT(problem.message.english(), ::testing::HasSubstr("library is 610.10"));
}

// All codes and all readings: faults_test.cc. Here the same through dlopen, for a few.
TEST_F(NvmlFake, WhatFailsOnOneDeviceChangesNoOtherThroughTheRealLibraryPathToo) {
  void* kept_loaded = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(kept_loaded, nullptr) << dlerror();
  const Snapshot sound = look();
  for (const std::string_view function : symbols()) {
    if (!function.starts_with("nvmlDevice")) continue;
    for (const int code : {not_supported, gpu_is_lost, unknown}) {
      const std::string fault = fmt::format("{}@1={}", function, code);
      faults(fault);
      const Snapshot got = look();
      ASSERT_EQ(got.devices.size(), 3U) << fault;
      EXPECT_EQ(got.devices[0], sound.devices[0]) << fault;
      EXPECT_EQ(got.devices[2], sound.devices[2]) << fault;
      EXPECT_TRUE(std::count(got.gpu_processes.begin(), got.gpu_processes.end(),
                             sound.gpu_processes[2]) == 1)
          << fault;
    }
  }
  dlclose(kept_loaded);
}

TEST_F(NvmlFake, SkipsADeviceThatIsNotToBeAsked) {
  faults("*@1=hang");
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  ASSERT_EQ(probe.open(), 3);
  EXPECT_EQ(probe.observe_device(0, Depth::everything, now).devices.at(0), h100(0));
  EXPECT_EQ(probe.skipped_device(1).index, 1);
  EXPECT_EQ(probe.observe_device(2, Depth::everything, now).devices.at(0), h100(2));
}

TEST_F(NvmlFake, ACardThatMustBeResetIsToldSoByWhicheverFunctionSaysIt) {
  for (const char* fault :
       {"nvmlDeviceGetPowerUsage@1=16", "nvmlDeviceGetHandleByIndex_v2@1=16", "*@1=16"}) {
    faults(fault);
    const Snapshot got = look();
    ASSERT_EQ(got.devices.size(), 3U) << fault;
    EXPECT_EQ(got.devices[1].unusable_because, Unusable::must_be_reset) << fault;
    ASSERT_EQ(got.problems.size(), 1U) << fault;
    EXPECT_EQ(got.problems[0].code, "reset_required") << fault;
  }
}

}  // namespace
}  // namespace berth::nvml
