// What real cards showed in /sys (tests/data/amdgpu), and what no capture has.

#include "probe/amdgpu/amdgpu_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "probe/amdgpu/fake_sys_test.h"
#include "probe/collector.h"
#include "probe/nvml/fake_machine_test.h"
#include "probe/presence/presence_source.h"
#include "snapshot/device_kind.h"

namespace berth {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ne;
using testing::SizeIs;

DeviceLook only_look(AmdgpuSys& sys) {
  AmdgpuSource source(sys.path(), sys / "proc");
  const auto count = source.open();
  EXPECT_TRUE(count && *count == 1);
  return source.observe_device(0, Depth::state, {});
}

TEST(AmdgpuSource, ReadsWhatACardShows) {
  AmdgpuSys sys;
  sys.add("0000:03:00.0", "rx7800xt", 128);
  const DeviceLook look = only_look(sys);
  const Device& card = look.devices.at(0);
  EXPECT_EQ(card.kind, DeviceKind::amd_gpu);
  EXPECT_EQ(card.id.text(), "00000000:03:00.0");  // it tells no number of its own
  EXPECT_EQ(card.index, 0);
  EXPECT_EQ(card.minor_number, 128U);
  EXPECT_EQ(card.utilization_gpu, Percent{2.0});
  EXPECT_EQ(card.power_draw, Milliwatts{32'000});
  EXPECT_EQ(card.power_limit, Milliwatts{236'000});
  EXPECT_EQ(card.temperature, Celsius{24});
  EXPECT_EQ(card.temperature_memory, Celsius{48});
  EXPECT_EQ(card.temperature_slowdown, Celsius{110});
  EXPECT_EQ(card.clock_graphics, Megahertz{2011});
  EXPECT_EQ(card.clock_memory, Megahertz{456});
  EXPECT_EQ(card.vbios_version.get(), "113-EXT90249-100");
  EXPECT_EQ(card.memory_used.why(), Absent::unsupported) << "its capture lacks the file";
  EXPECT_EQ(card.ecc_corrected.why(), Absent::unsupported);
  EXPECT_EQ(card.unusable_because, Unusable::none);
}

TEST(AmdgpuSource, ReadsMemoryAndWhoACardIs) {
  AmdgpuSys sys;
  sys.add("0000:09:00.0", "vega10", 129);
  const Device card = only_look(sys).devices.at(0);
  EXPECT_EQ(card.uuid.get(), "GPU-0123456789abcdef");
  EXPECT_EQ(card.id.text(), "GPU-0123456789abcdef");
  EXPECT_EQ(card.memory_total, Bytes{8'573'157'376});
  EXPECT_EQ(card.memory_used, Bytes{1'490'378'752});
  EXPECT_EQ(card.memory_free, Bytes{8'573'157'376 - 1'490'378'752});
  EXPECT_EQ(card.utilization_gpu, Percent{4.0});
  EXPECT_EQ(card.serial.why(), Absent::unsupported) << "an empty file is no serial number";
}

TEST(AmdgpuSource, AnApuHasNoNumberOfItsOwnAndBothPowers) {
  AmdgpuSys sys;
  sys.add("0000:64:00.0", "phoenix", 128);
  const Device card = only_look(sys).devices.at(0);
  EXPECT_EQ(card.uuid.why(), Absent::unsupported);
  EXPECT_EQ(card.power_draw, Milliwatts{3103}) << "the average";
  EXPECT_EQ(card.temperature, Celsius{25});
  EXPECT_EQ(card.memory_total, Bytes{4'294'967'296});
}

TEST(AmdgpuSource, ACardThatSleepsIsNotWokenUp) {
  AmdgpuSys sys;
  sys.add("0000:09:00.0", "vega10", 128);
  sys.put("bus/pci/devices/0000:09:00.0/power/runtime_status", "suspended\n");
  const Device card = only_look(sys).devices.at(0);
  EXPECT_EQ(card.unusable_because, Unusable::asleep);
  EXPECT_EQ(card.memory_used, Bytes{1'490'378'752}) << "the kernel remembers it";
  EXPECT_FALSE(card.utilization_gpu.get()) << "the file would say 4";
  EXPECT_FALSE(card.temperature.get());
}

TEST(AmdgpuSource, WhatTheDriverRefusesIsAbsentWithTheReason) {
  AmdgpuSys sys;
  sys.add("0000:09:00.0", "vega10", 128);
  sys.put("bus/pci/devices/0000:09:00.0/gpu_busy_percent", "65535\n");
  sys.put("bus/pci/devices/0000:09:00.0/mem_info_vram_used", "much\n");
  const Device card = only_look(sys).devices.at(0);
  EXPECT_EQ(card.utilization_gpu.why(), Absent::failed) << "no percentage";
  EXPECT_EQ(card.memory_used.why(), Absent::failed);
  EXPECT_EQ(card.memory_free.why(), Absent::failed);
  EXPECT_EQ(card.memory_total, Bytes{8'573'157'376});
}

TEST(AmdgpuSource, NumbersOfRocmAndProcessesComeFromTheKfd) {
  AmdgpuSys sys;
  sys.add("0000:27:00.0", "vega10", 130);
  sys.add_node(0, 0, 0, "0");             // a processor
  sys.add_node(10, 0x2700, 152, "5678");  // its number is 10 and not 1: it comes last
  sys.add_node(2, 0x0900, 152, "1234");   // a card that this container does not show
  sys.put("class/kfd/kfd/proc/41/vram_5678", "1048576\n");
  sys.put("class/kfd/kfd/proc/41/vram_1234", "4096\n");
  sys.put("class/kfd/kfd/proc/42/vram_5678", "0\n");  // has the driver open, and no memory here
  const DeviceLook look = only_look(sys);
  EXPECT_EQ(look.devices.at(0).runtime_index, 1);
  EXPECT_EQ(look.devices.at(0).process_count, 1U);
  ASSERT_THAT(look.processes, SizeIs(1));
  EXPECT_EQ(look.processes[0].pid, 41);
  EXPECT_EQ(look.processes[0].memory, Bytes{1'048'576});
}

TEST(AmdgpuSource, WithoutTheKfdOpenFilesTellWhoIsThere) {
  AmdgpuSys sys;
  sys.add("0000:09:00.0", "vega10", 128);
  EXPECT_EQ(only_look(sys).devices.at(0).process_count.why(), Absent::failed) << "no /proc either";
  sys.add_process("61", "/dev/dri/renderD128", "");
  const DeviceLook look = only_look(sys);
  EXPECT_EQ(look.devices.at(0).process_count, 0U) << "it tells of no client";
  EXPECT_FALSE(look.devices.at(0).runtime_index);
}

Reading<std::string> driver_told(AmdgpuSys& sys) {
  AmdgpuSource source(sys.path());
  EXPECT_TRUE(source.open());
  Host host;
  std::vector<Problem> problems;
  source.observe_host(host, Depth::state, problems);
  return host.software_of(Runtime::rocm).driver;
}

TEST(AmdgpuSource, OnlyTheDriverOfAmdsPackagesHasAVersion) {
  AmdgpuSys sys;
  sys.add("0000:09:00.0", "vega10", 128);
  EXPECT_EQ(driver_told(sys).why(), Absent::unsupported);
  sys.put("module/amdgpu/version", "6.10.5\n");
  EXPECT_EQ(driver_told(sys).get(), "6.10.5");
}

class TwoMakers : public nvml::NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    sys.add("0000:09:00.0", "vega10", 128);
  }
  Collector started(Looks looks) {
    const Sources sources{.nvml_library = nvml::library("all"),
                          .proc = "/nowhere",
                          .sys = sys.path(),
                          .pci_ids = "/nowhere",
                          .passwd = "/nowhere",
                          .kernel_log = "/nowhere",
                          .root = sys.path()};
    return std::move(
        *Collector::start(sources, {.looks = looks,
                                    .patience = {.whole = std::chrono::seconds(60),
                                                 .stall = std::chrono::milliseconds(200)}}));
  }
  /// This process's children, the oldest first.
  static std::vector<pid_t> children() {
    std::vector<pid_t> pids;
    const std::string path = fmt::format("/proc/self/task/{}/children", ::gettid());
    const std::string told = read_file(path).value_or("");
    for (const std::string_view word : split(told, ' ')) {
      if (const auto pid = parse_unsigned(trimmed(word))) pids.push_back(static_cast<pid_t>(*pid));
    }
    return pids;
  }
  /// Until it sleeps: it has opened its driver and waits for what is wanted of it.
  void wait_until_asked(pid_t pid) {
    const std::string path = fmt::format("/proc/{}/stat", pid);
    const Instant end = clock.now() + std::chrono::seconds(60);
    while (read_file(path).value_or("").find(") S ") == std::string::npos && clock.now() < end) {
      clock.wait_until(clock.now() + std::chrono::milliseconds(2));
    }
  }
  static const Device* amd_of(const Snapshot& look) {
    const auto found = std::ranges::find(look.devices, DeviceKind::amd_gpu, &Device::kind);
    return found == look.devices.end() ? nullptr : &*found;
  }
  static std::size_t nvidia_count(const Snapshot& look) {
    return static_cast<std::size_t>(std::ranges::count_if(look.devices, [](const Device& device) {
      return device.kind == DeviceKind::nvidia_gpu && device.index && device.memory_used.get();
    }));
  }
  AmdgpuSys sys;
  SystemClock clock;
};

TEST_F(TwoMakers, EachDriversDevicesHaveNumbersOfTheirOwn) {
  for (const Looks looks : {Looks::once, Looks::again}) {
    Collector collector = started(looks);
    for (int i = 0; i < (looks == Looks::once ? 1 : 3); ++i) {
      const Snapshot look = collector.collect({.wanted = Depth::state}, clock);
      const Device* amd = amd_of(look);
      ASSERT_NE(amd, nullptr);
      EXPECT_EQ(amd->index, static_cast<int>(nvidia_count(look)));
      EXPECT_EQ(amd->runtime_index, 0);
      EXPECT_EQ(amd->utilization_gpu, Percent{4.0});
      EXPECT_EQ(look.devices.front().index, 0);
      EXPECT_FALSE(look.devices.front().runtime_index);
      for (const char* source : {"nvml", "amdgpu", "pci"}) {
        EXPECT_TRUE(std::ranges::any_of(look.sources, [&](const SourceReport& report) {
          return report.source == source && report.succeeded;
        })) << source;
      }
    }
  }
}

TEST_F(TwoMakers, EachHasTheVersionsOfItsOwnSoftware) {
  const auto runtime_told = [&](Looks looks) {
    const Snapshot look = started(looks).collect({.wanted = Depth::state}, clock);
    EXPECT_EQ(look.host.software_of(Runtime::rocm).driver.get(), "6.10.5");
    const VendorSoftware& nvidia = look.host.software_of(Runtime::cuda);
    EXPECT_TRUE(nvidia.driver.get() && *nvidia.driver.get() != "6.10.5");
    EXPECT_TRUE(nvidia.library.get() && nvidia.runtime.get());
    EXPECT_EQ(amd_of(look)->utilization_gpu, Percent{4.0});
    return look.host.software_of(Runtime::rocm).runtime;
  };
  sys.put("module/amdgpu/version", "6.10.5\n");
  EXPECT_EQ(runtime_told(Looks::once).why(), Absent::unsupported) << "no ROCm is installed";
  sys.put("opt/rocm/.info/version", "6.3.0-39\n");
  EXPECT_EQ(runtime_told(Looks::once).get(), "6.3.0-39");
  EXPECT_EQ(runtime_told(Looks::again).get(), "6.3.0-39");
  sys.put("opt/rocm/.info/version", "<html>\n");
  EXPECT_EQ(runtime_told(Looks::once).why(), Absent::failed);
}

TEST_F(TwoMakers, ADriverThatHangsCostsNoRowOfTheOther) {
  Collector collector = started(Looks::again);
  collector.open(clock);
  const std::vector<pid_t> probes = children();
  ASSERT_GE(probes.size(), 2U);
  wait_until_asked(probes.back());
  ASSERT_TRUE(signal_child(probes.back(), SIGSTOP));
  const Snapshot look = collector.collect({.wanted = Depth::state}, clock);
  EXPECT_GT(nvidia_count(look), 0U);
  const Device* amd = amd_of(look);
  ASSERT_NE(amd, nullptr) << "the bus shows it";
  EXPECT_FALSE(amd->utilization_gpu.get());
  EXPECT_TRUE(std::ranges::any_of(look.problems, [&](const Problem& problem) {
    return problem.source == "amdgpu" && problem.code == "timeout";
  }));
  EXPECT_TRUE(collector.unanswered_since(clock));
}

TEST_F(TwoMakers, NorDoesTheFirst) {
  setenv("BERTH_FAKE_NVML_FAULTS", "nvmlInit_v2=hang", 1);
  Collector collector = started(Looks::once);
  collector.open(clock);
  const std::vector<pid_t> probes = children();
  ASSERT_GE(probes.size(), 2U);
  wait_until_asked(probes[probes.size() - 2]);  // before it has begun it is no vendor's yet
  ASSERT_TRUE(signal_child(probes[probes.size() - 2], SIGKILL));
  const Snapshot look = collector.collect({.wanted = Depth::state}, clock);
  unsetenv("BERTH_FAKE_NVML_FAULTS");
  ASSERT_NE(amd_of(look), nullptr);
  EXPECT_EQ(amd_of(look)->utilization_gpu, Percent{4.0});
  EXPECT_TRUE(std::ranges::any_of(look.problems, [&](const Problem& problem) {
    return problem.source == "nvml" && problem.code == "crashed";
  }));
}

TEST_F(TwoMakers, ALibraryIsNotOpenedWhileAllItsCardsSleep) {
  for (const char* address : {"0000:3b:00.0", "0000:5e:00.0"}) {
    const std::string folder = AmdgpuSys::folder(address);
    sys.put(folder + "/class", "0x030200\n");
    sys.put(folder + "/vendor", "0x10de\n");
    sys.put(folder + "/device", "0x2330\n");
    sys.put(folder + "/power/runtime_status", "suspended\n");
    std::filesystem::create_directories(sys / (std::string("bus/pci/drivers/nvidia/") + address));
    std::filesystem::create_symlink("../../drivers/nvidia", sys / (folder + "/driver"));
  }
  const auto was_asked = [](const Snapshot& look) {
    return std::ranges::any_of(look.sources,
                               [](const SourceReport& report) { return report.source == "nvml"; });
  };
  Collector watcher = started(Looks::again);
  for (int i = 0; i < 2; ++i) {
    const Snapshot look = watcher.collect({.wanted = Depth::state}, clock);
    EXPECT_FALSE(was_asked(look)) << "it neither answered nor failed";
    EXPECT_EQ(std::ranges::count(look.devices, Unusable::asleep, &Device::unusable_because), 2);
    EXPECT_EQ(look.devices.back().memory_used.why(), Absent::not_sampled);
    EXPECT_THAT(look.problems, Each(testing::Field(&Problem::source, Ne("nvml"))));
  }
  // Who is about to use them wakes them up, and so does one that is awake.
  Collector user = started(Looks::once);
  user.open(clock);
  EXPECT_GT(
      nvidia_count(user.collect({.wanted = Wanted(Depth::state).add(Extra::sleepers)}, clock)), 0U);
  sys.put(AmdgpuSys::folder("0000:5e:00.0") + "/power/runtime_status", "active\n");
  EXPECT_GT(nvidia_count(watcher.collect({.wanted = Depth::state}, clock)), 0U);
}

TEST(DriversHere, EachKindWithASourceHasItsRow) {
  for (const DeviceKindFacts& facts : device_kinds()) {
    if (facts.source.empty()) continue;
    const auto source = std::ranges::find_if(all_sources(), [&](const SourceFacts& one) {
      return facts_of(one.kind).source == facts.source;
    });
    ASSERT_NE(source, all_sources().end()) << facts.name << ": no row in device_source.cc";
    EXPECT_TRUE(is_asked(source->kernel_drivers.front()) || source->sees_any != nullptr)
        << facts.name;
    EXPECT_NE(source->make, nullptr);
    EXPECT_TRUE(source->pci_vendor.starts_with("0x"));
    if (!facts.may_be_presence) continue;
    const auto row = std::ranges::find(presence_rows(), facts.kind, &PresenceRow::kind);
    ASSERT_NE(row, presence_rows().end()) << facts.name << ": no row in presence_source.cc";
    EXPECT_TRUE(std::ranges::any_of(
        facts.file_beginnings,
        [&](std::string_view beginning) { return row->file.starts_with(beginning); }))
        << facts.name << ": who has its file open would be nobody";
  }
  EXPECT_FALSE(is_asked("vfio-pci"));
}

TEST(DriversHere, AreThoseWhoseCardsAreThere) {
  AmdgpuSys sys;
  EXPECT_THAT(drivers_here({.sys = "/nowhere"}), ElementsAre(DeviceKind::nvidia_gpu))
      << "its problem says why nothing is seen";
  sys.add("0000:09:00.0", "vega10", 128);
  EXPECT_THAT(drivers_here({.sys = sys.path()}), ElementsAre(DeviceKind::amd_gpu));
  sys.put("bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  EXPECT_THAT(drivers_here({.sys = sys.path()}),
              ElementsAre(DeviceKind::nvidia_gpu, DeviceKind::amd_gpu));
}

}  // namespace
}  // namespace berth
