// Divided cards, cards that sleep, and files of /sys that lie, vanish or never answer.

#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "probe/amdgpu/amdgpu_source.h"
#include "probe/amdgpu/fake_sys_test.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* card_address = "0000:05:00.0";

std::string of_card(std::string_view name) {
  return AmdgpuSys::folder(card_address) + "/" + std::string(name);
}

/// A card in CPX with as many partitions.
void divide(AmdgpuSys& sys, int parts) {
  sys.put(of_card("current_compute_partition"), "CPX\n");
  sys.put(of_card("current_memory_partition"), "NPS4\n");
  for (int i = 0; i < parts; ++i) {
    const std::string node = fmt::format("class/kfd/kfd/topology/nodes/{}/", 2 + i);
    sys.put(node + "properties",
            fmt::format("simd_count 152\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id {}\n"
                        "domain 0\ndrm_render_minor {}\nunique_id 42\n",
                        0x0500 + i, 128 + i));
    sys.put(node + "gpu_id", fmt::format("{}\n", 100 + i));
    sys.put(node + "mem_banks/0/properties", "heap_type 1\nsize_in_bytes 25757220864\n");
  }
}

class ADividedCard : public testing::Test {
 protected:
  void SetUp() override {
    sys.add(card_address, "vega10", 128);
    divide(sys, 4);
  }
  DeviceLook look() {
    AmdgpuSource source(sys.path(), sys / "proc");
    EXPECT_TRUE(source.open());
    return source.observe_device(0, Depth::state, {});
  }
  AmdgpuSys sys;
};

TEST_F(ADividedCard, StandsWithItsPartitionsBehindIt) {
  const DeviceLook seen = look();
  ASSERT_THAT(seen.devices, SizeIs(5));
  const Device& card = seen.devices[0];
  EXPECT_EQ(card.partition_mode.get(), "CPX NPS4");
  EXPECT_EQ(division_of(card), Division::divided);
  EXPECT_FALSE(card.runtime_index);
  const Device& part = seen.devices[2];
  EXPECT_EQ(part.kind, DeviceKind::amd_partition);
  EXPECT_EQ(part.parent, card.id);
  EXPECT_EQ(part.id.text(), card.id.text() + "-p1");
  EXPECT_EQ(part.runtime_index, 1);
  EXPECT_EQ(part.minor_number, 129U);
  EXPECT_EQ(part.architecture.get(), "gfx942");
  EXPECT_EQ(part.memory_total, Bytes{25757220864});
  EXPECT_EQ(part.memory_used.why(), Absent::unsupported) << "it is a share, not a wall";
  EXPECT_EQ(part.power_draw.why(), Absent::unsupported) << "the socket's is the card's";
  EXPECT_FALSE(part.uuid.get());
}

TEST_F(ADividedCard, ItsProcessesAreItsPartitions) {
  sys.put("class/kfd/kfd/proc/70/vram_102", "1073741824\n");
  sys.put("class/kfd/kfd/proc/70/vram_100", "0\n");
  const DeviceLook seen = look();
  ASSERT_THAT(seen.processes, SizeIs(1));
  EXPECT_EQ(seen.processes[0].device, seen.devices[3].id);
  EXPECT_EQ(seen.devices[3].process_count, 1U);
  EXPECT_EQ(seen.devices[1].process_count, 0U);
  EXPECT_EQ(seen.devices[0].process_count, 1U) << "all of its partitions'";
}

TEST_F(ADividedCard, WithoutTheModesFileTheNodesTell) {
  std::filesystem::remove(sys / of_card("current_compute_partition"));
  EXPECT_EQ(division_of(look().devices[0]), Division::divided);
}

TEST_F(ADividedCard, OfTwoCardsWithOneNumberNeitherHasIt) {
  sys.add("0000:09:00.0", "vega10", 160);  // its capture has the same unique_id
  AmdgpuSource source(sys.path(), sys / "proc");
  ASSERT_TRUE(source.open());
  EXPECT_EQ(source.observe_device(0, Depth::state, {}).devices[0].id.text(), "00000000:05:00.0");
  EXPECT_EQ(source.observe_device(1, Depth::state, {}).devices[0].id.text(), "00000000:09:00.0");
}

TEST_F(ADividedCard, MadeWholeAgainItIsOne) {
  AmdgpuSource source(sys.path(), sys / "proc");
  sys.put("class/kfd/kfd/topology/generation_id", "1\n");
  ASSERT_TRUE(source.open());
  EXPECT_THAT(source.observe_device(0, Depth::state, {}).devices, SizeIs(5));
  sys.put(of_card("current_compute_partition"), "SPX\n");
  for (int i = 1; i < 4; ++i) {
    std::filesystem::remove_all(sys / fmt::format("class/kfd/kfd/topology/nodes/{}", 2 + i));
  }
  sys.put("class/kfd/kfd/topology/generation_id", "2\n");
  ASSERT_TRUE(source.open());
  const DeviceLook whole = source.observe_device(0, Depth::state, {});
  ASSERT_THAT(whole.devices, SizeIs(1));
  EXPECT_EQ(whole.devices[0].runtime_index, 0);
  EXPECT_EQ(division_of(whole.devices[0]), Division::whole);
}

TEST_F(ADividedCard, WhileItIsBeingJoinedNoneOfItIsGiven) {
  sys.put(of_card("current_compute_partition"), "SPX\n");
  for (const Device& device : look().devices) {
    EXPECT_EQ(device.unusable_because, Unusable::unanswered) << device.id.text();
  }
}

class ItsNumber : public testing::Test {
 protected:
  void SetUp() override { sys.add(card_address, "vega10", 128); }
  Device look() {
    EXPECT_TRUE(source.open());
    return source.observe_device(0, Depth::state, {}).devices.at(0);
  }
  AmdgpuSys sys;
  AmdgpuSource source{sys.path(), sys / "proc"};
};

TEST_F(ItsNumber, UnreadForAMomentMakesItNoOtherCard) {
  const DeviceId id = look().id;
  EXPECT_TRUE(id.text().starts_with("GPU-"));
  const std::string number = read_file(sys / of_card("unique_id")).value_or("");
  sys.put(of_card("unique_id"), "\xff\xfe\n");
  const Device unread = look();
  EXPECT_EQ(unread.id, id);
  EXPECT_EQ(unread.unusable_because, Unusable::unanswered);
  EXPECT_TRUE(is_silent(unread)) << "the next look may read it";
  sys.put(of_card("unique_id"), number);
  EXPECT_EQ(look().unusable_because, Unusable::none);
}

TEST_F(ItsNumber, UnreadAtTheFirstLookIsReadAtTheNext) {
  const std::string number = read_file(sys / of_card("unique_id")).value_or("");
  sys.put(of_card("unique_id"), "?\n");
  EXPECT_EQ(look().unusable_because, Unusable::unanswered);
  sys.put(of_card("unique_id"), number);
  const Device card = look();
  EXPECT_TRUE(card.id.text().starts_with("GPU-"));
  EXPECT_EQ(card.unusable_because, Unusable::none);
}

TEST_F(ItsNumber, AnotherCardInItsPlaceIsAnotherDevice) {
  const Device before = look();
  sys.put(of_card("unique_id"), "00000000000000ab\n");
  sys.put(of_card("vbios_version"), "113-new\n");
  const Device card = look();
  EXPECT_EQ(card.id.text(), "GPU-00000000000000ab");
  EXPECT_EQ(card.vbios_version.get(), "113-new");
  EXPECT_NE(card.id, before.id);
}

TEST_F(ItsNumber, ComesLaterThanTheCardWhileItsDriverBegins) {
  std::filesystem::remove_all(sys / of_card("drm"));
  std::filesystem::remove(sys / of_card("unique_id"));
  EXPECT_EQ(look().unusable_because, Unusable::unanswered);
}

TEST_F(ItsNumber, AmongRocmsIsThatOfAnotherCardWhereRocmDoesNotListIt) {
  sys.add("0000:09:00.0", "vega10", 129);
  sys.add_node(2, 0x0900, 152, "77");
  EXPECT_EQ(look().unusable_because.english(), "ROCm does not list it");
  EXPECT_EQ(source.observe_device(1, Depth::state, {}).devices.at(0).runtime_index, 0);
  std::filesystem::remove_all(sys / "class/kfd");
  EXPECT_EQ(look().unusable_because, Unusable::none) << "no ROCm here at all";
}

/// Tells which of the files below a folder were opened.
class Trap {
 public:
  explicit Trap(const std::string& folder) : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const int watch = ::inotify_add_watch(inotify_, entry.path().c_str(), IN_OPEN);
      names_[watch] = entry.path().lexically_relative(folder);
    }
  }
  Trap(const Trap&) = delete;
  Trap& operator=(const Trap&) = delete;
  ~Trap() { ::close(inotify_); }

  std::vector<std::string> sprung() {
    std::vector<std::string> opened;
    alignas(inotify_event) char events[65536];
    ssize_t got = 0;
    while ((got = ::read(inotify_, events, sizeof events)) > 0) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events + at);
        opened.push_back(names_[event->wd]);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    std::ranges::sort(opened);
    const auto again = std::ranges::unique(opened);
    opened.erase(again.begin(), again.end());
    return opened;
  }

 private:
  int inotify_;
  std::map<int, std::string> names_;
};

TEST(ASleepingCard, OnlyWhatTheKernelRemembersIsOpened) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.put(of_card("power/runtime_status"), "suspended\n");
  sys.put(of_card("gpu_metrics"), "x");
  sys.put(of_card("ras/umc_err_count"), "ue: 0\nce: 0\n");
  AmdgpuSource source(sys.path(), sys / "proc");
  Trap trap(sys / AmdgpuSys::folder(card_address));
  for (const Depth depth : {Depth::state, Depth::lists}) {
    ASSERT_TRUE(source.open());
    const DeviceLook look = source.observe_device(0, depth, {});
    EXPECT_EQ(look.devices[0].unusable_because, Unusable::asleep);
  }
  EXPECT_THAT(trap.sprung(),
              testing::IsSubsetOf({"class", "mem_info_vram_total", "mem_info_vram_used",
                                   "power/runtime_status", "product_name", "serial_number",
                                   "unique_id", "vbios_version"}));
  // The trap works.
  sys.put(of_card("power/runtime_status"), "active\n");
  Trap armed(sys / AmdgpuSys::folder(card_address));
  (void)source.observe_device(0, Depth::state, {});
  EXPECT_THAT(armed.sprung(), testing::Contains("gpu_busy_percent"));
}

Device card_in(AmdgpuSys& sys, Wanted wanted = Depth::lists) {
  AmdgpuSource source(sys.path(), sys / "proc");
  EXPECT_TRUE(source.open());
  return source.observe_device(0, wanted, {}).devices.at(0);
}

TEST(AmdgpuErrors, AreTheSumOfAllBlocksOrUnknown) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  EXPECT_EQ(card_in(sys).ecc_corrected.why(), Absent::unsupported);
  sys.put(of_card("ras/umc_err_count"), "ue: 1\nce: 3\n");
  sys.put(of_card("ras/gfx_err_count"), "ue: 0\nce: 2\n");
  sys.put(of_card("ras/gpu_vram_bad_pages"), "0x00000001 : 0x00001000 : R\n");
  const Device card = card_in(sys);
  EXPECT_EQ(card.ecc_corrected, 5U);
  EXPECT_EQ(card.ecc_uncorrected, 1U);
  EXPECT_EQ(card.details.get<std::uint64_t>(Detail::retired_pages_double_bit), 1U);
  EXPECT_EQ(card.details.get<bool>(Detail::retired_pages_pending), false);
  sys.put(of_card("ras/sdma_err_count"), "Query currently inaccessible\n");
  EXPECT_EQ(card_in(sys).ecc_corrected.why(), Absent::failed) << "a part of the sum is missing";
}

TEST(HostileSys, AbsurdNumbersAreNoReadings) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  const std::string hwmon = "hwmon/hwmon9/";
  for (const char* name : {"mem_info_vram_used", "gpu_busy_percent", "pcie_replay_count"}) {
    sys.put(of_card(name), "99999999999999999999999\n");
  }
  std::filesystem::remove_all(sys / of_card("hwmon"));
  sys.put(of_card(hwmon + "name"), "amdgpu\n");
  sys.put(of_card(hwmon + "power1_average"), "18446744073709551615\n");
  sys.put(of_card(hwmon + "temp1_input"), "-273150\n");
  sys.put(of_card(hwmon + "freq1_input"), "");
  sys.put(of_card(hwmon + "pwm1"), "70000\n");
  const Device card = card_in(sys);
  EXPECT_EQ(card.memory_used.why(), Absent::failed);
  EXPECT_EQ(card.utilization_gpu.why(), Absent::failed);
  EXPECT_EQ(card.pcie_replays.why(), Absent::failed);
  EXPECT_EQ(card.power_draw.why(), Absent::failed);
  EXPECT_EQ(card.temperature.why(), Absent::failed);
  EXPECT_EQ(card.clock_graphics.why(), Absent::unsupported) << "an empty file";
  EXPECT_EQ(card.fan_speed.why(), Absent::failed);
}

TEST(HostileSys, MoreUsedThanThereIsIsNoReading) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.put(of_card("mem_info_vram_used"), "8573157377\n");
  EXPECT_EQ(card_in(sys).memory_used.why(), Absent::failed);
  EXPECT_EQ(card_in(sys).memory_free.why(), Absent::failed);
  sys.put(of_card("mem_info_vram_total"), "0\n");
  EXPECT_EQ(card_in(sys).memory_total.why(), Absent::unsupported) << "an MI300A has none";
}

TEST(HostileSys, AFifoIsNotWaitedFor) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  for (const char* name : {"gpu_busy_percent", "mem_info_vram_used", "unique_id", "gpu_metrics"}) {
    std::filesystem::remove(sys / of_card(name));
    ASSERT_EQ(::mkfifo((sys / of_card(name)).c_str(), 0644), 0);
  }
  std::filesystem::create_directories(sys / "class/kfd/kfd/topology/nodes/1");
  ASSERT_EQ(::mkfifo((sys / "class/kfd/kfd/topology/nodes/1/properties").c_str(), 0644), 0);
  const Device card = card_in(sys);
  EXPECT_FALSE(card.utilization_gpu.get());
  EXPECT_FALSE(card.memory_used.get());
  EXPECT_EQ(card.id.text(), "00000000:05:00.0");
}

TEST(HostileSys, ACardThatIsPulledOutIsCountedNoMore) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.add("0000:09:00.0", "vega10", 129);
  AmdgpuSource source(sys.path(), sys / "proc");
  ASSERT_EQ(source.open().value_or(0), 2);
  std::filesystem::remove_all(sys / AmdgpuSys::folder(card_address));
  const DeviceLook gone = source.observe_device(0, Depth::state, {});
  EXPECT_FALSE(gone.devices.at(0).memory_total.get()) << "it went during the look";
  std::filesystem::remove_all(sys / (std::string("bus/pci/drivers/amdgpu/") + card_address));
  EXPECT_EQ(source.open().value_or(0), 1);
  std::filesystem::remove_all(sys / "bus/pci/drivers/amdgpu");
  const auto none = source.open();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "driver_not_loaded");
}

TEST(AmdgpuProcesses, OfBothListsAreToldOnce) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.add_node(2, 0x0500, 152, "77");
  sys.put("class/kfd/kfd/proc/70/vram_77", "4096000000\n");
  sys.put("class/kfd/kfd/proc/71/vram_77", "0\n");
  const std::string client =
      "drm-driver:\tamdgpu\ndrm-client-id:\t{}\ndrm-resident-vram:\t{} KiB\n{}";
  // ROCm has opened the render node of the card that it computes on, and of those it does not.
  sys.add_process("70", "/dev/dri/renderD128", fmt::format(fmt::runtime(client), 1, 4000000, ""));
  sys.add_process("71", "/dev/dri/renderD128", fmt::format(fmt::runtime(client), 2, 20, ""));
  sys.add_process("72", "/dev/dri/renderD128",
                  fmt::format(fmt::runtime(client), 3, 90000, "drm-engine-gfx:\t500 ns\n"));
  sys.add_process("73", "/dev/dri/renderD128",
                  fmt::format(fmt::runtime(client), 4, 4000000, "drm-engine-gfx:\t500 ns\n"));
  AmdgpuSource source(sys.path(), sys / "proc");
  ASSERT_TRUE(source.open());
  const DeviceLook look = source.observe_device(0, Depth::state, {});
  EXPECT_THAT(look.processes, ElementsAre(testing::Field(&GpuProcess::pid, 70),
                                          testing::Field(&GpuProcess::pid, 72),
                                          testing::Field(&GpuProcess::pid, 73)));
  EXPECT_EQ(look.processes[0].memory, Bytes{4096000000}) << "the KFD's, not the sum";
  EXPECT_EQ(look.processes[0].use, GpuUse::compute);
  EXPECT_EQ(look.processes[0].utilization_sm.why(), Absent::unsupported);
  EXPECT_EQ(look.processes[1].use, GpuUse::graphics);
  EXPECT_EQ(look.processes[2].use, GpuUse::both) << "no window holds that much";
}

TEST(AmdgpuProcesses, InAContainerNumbersOfTheTwoListsAreNotMixed) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.add_node(2, 0x0500, 152, "77");
  sys.put("class/kfd/kfd/proc/9070/vram_77", "4096\n");
  sys.add_process("7", "/dev/dri/renderD128",
                  "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-resident-vram:\t4000000 KiB\n");
  std::filesystem::create_directories(sys / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026532000]", sys / "proc/self/ns/pid");
  AmdgpuSource source(sys.path(), sys / "proc");
  ASSERT_TRUE(source.open());
  EXPECT_THAT(source.observe_device(0, Depth::state, {}).processes,
              ElementsAre(testing::Field(&GpuProcess::pid, 9070)));
}

TEST(AmdgpuProcesses, WhatMayNotBeReadIsUnknownAndNotNobody) {
  AmdgpuSys sys;
  sys.add(card_address, "vega10", 128);
  sys.add_node(2, 0x0500, 152, "77");
  sys.put("class/kfd/kfd/proc/70/vram_77", "much\n");
  EXPECT_EQ(card_in(sys).process_count.why(), Absent::failed);
}

/// A card of Hygon's, whose driver was made of amdgpu.
void add_dcu(AmdgpuSys& sys) {
  sys.add("0000:33:00.0", "vega10", 128);
  const std::string folder = AmdgpuSys::folder("0000:33:00.0");
  sys.put(folder + "/vendor", "0x1d94\n");
  sys.put(folder + "/unique_id", "TRFU340004050701\n");
  sys.put(folder + "/hwmon/hwmon3/name", "hycu\n");
  sys.put(folder + "/hwmon/hwmon3/temp1_input", "57000\n");
  sys.put(folder + "/hwmon/hwmon3/power1_average", "356000000\n");
  std::filesystem::remove_all(sys / "bus/pci/drivers/amdgpu");
  std::filesystem::create_directories(sys / "bus/pci/drivers/hycu/0000:33:00.0");
  std::filesystem::remove(sys / (folder + "/driver"));
  std::filesystem::create_symlink("../../drivers/hycu", sys / (folder + "/driver"));
}

AmdgpuSource source_of_dcus(AmdgpuSys& sys) {
  return AmdgpuSource(sys.path(), sys / "proc", [] { return Instant(); }, amdgpu::hygons);
}

TEST(AmdgpuFork, ReadsTheCardsOfTheForkByTheSameFiles) {
  AmdgpuSys sys;
  add_dcu(sys);
  EXPECT_FALSE(AmdgpuSource(sys.path(), sys / "proc").open()) << "not amdgpu's";
  AmdgpuSource dcus = source_of_dcus(sys);
  ASSERT_EQ(dcus.open().value_or(0), 1);
  const Device card = dcus.observe_device(0, Depth::state, {}).devices.at(0);
  EXPECT_EQ(card.kind, DeviceKind::hygon_dcu);
  EXPECT_EQ(card.id.text(), "00000000:33:00.0") << "as where its files are not there";
  EXPECT_EQ(card.uuid.why(), Absent::unsupported) << "its unique_id is no number";
  EXPECT_TRUE(card.memory_total.get() && card.utilization_gpu.get());
  EXPECT_EQ(card.power_draw, Milliwatts{356'000});
  EXPECT_EQ(card.temperature, Celsius{57});
  EXPECT_EQ(card.unusable_because, Unusable::none);
  EXPECT_FALSE(is_only_presence(card));
  EXPECT_THAT(drivers_here({.sys = sys.path()}), ElementsAre(DeviceKind::hygon_dcu));
}

TEST(AmdgpuFork, WithoutTheFilesOnlyPresenceIsKnown) {
  AmdgpuSys sys;
  add_dcu(sys);
  std::filesystem::remove(sys / (AmdgpuSys::folder("0000:33:00.0") + "/mem_info_vram_total"));
  EXPECT_THAT(drivers_here({.sys = sys.path()}), ElementsAre(DeviceKind::cambricon_mlu))
      << "the source of all that only presence is known of";
}

TEST(AmdgpuFork, WhoHasItOpenIsOnItUnlessTheKfdSaysOtherwise) {
  AmdgpuSys sys;
  add_dcu(sys);
  for (const std::string pid : {"71", "72"}) {
    std::filesystem::create_directories(sys / ("proc/" + pid + "/fd"));
    std::filesystem::create_symlink("/dev/dri/renderD128", sys / ("proc/" + pid + "/fd/3"));
    sys.put("proc/" + pid + "/fdinfo/3", "pos:\t0\n");
  }
  AmdgpuSource dcus = source_of_dcus(sys);
  ASSERT_TRUE(dcus.open());
  EXPECT_THAT(dcus.observe_device(0, Depth::state, {}).processes, SizeIs(2));
  sys.put("class/kfd/kfd/topology/nodes/1/properties",
          "simd_count 256\nsimd_per_cu 4\nlocation_id 13056\ndomain 0\n");
  sys.put("class/kfd/kfd/topology/nodes/1/gpu_id", "900\n");
  sys.put("class/kfd/kfd/proc/71/vram_900", "0\n");
  sys.put("class/kfd/kfd/proc/72/vram_900", "4096\n");
  ASSERT_TRUE(dcus.open());
  EXPECT_THAT(dcus.observe_device(0, Depth::state, {}).processes,
              ElementsAre(testing::Field(&GpuProcess::pid, 72)));
}

}  // namespace
}  // namespace berth
