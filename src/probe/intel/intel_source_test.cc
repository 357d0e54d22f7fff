#include "probe/intel/intel_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using testing::SizeIs;

class IntelSys : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::string file = root / path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(write_file_atomically(file, text));
  }
  void add(const std::string& address, const std::string& driver, int number) {
    const std::string folder = "bus/pci/devices/" + address;
    put(folder + "/class", "0x030000\n");
    std::filesystem::create_directories(root / ("bus/pci/drivers/" + driver + "/" + address));
    std::filesystem::create_directories(root / (folder + "/drm/card" + std::to_string(number)));
    std::filesystem::create_directories(root /
                                        (folder + "/drm/renderD" + std::to_string(128 + number)));
  }
  /// What each look sees of the device; the clock goes on by a second between them.
  DeviceLook look(IntelSource& source, int index, Wanted wanted = Depth::state) {
    EXPECT_TRUE(source.open());
    DeviceLook seen = source.observe_device(index, wanted, {});
    now += std::chrono::seconds(1);
    return seen;
  }
  IntelSource source() {
    return IntelSource(root.path(), root / "proc", [this] { return now; });
  }
  TemporaryDirectory root;
  Instant now{};
};

TEST_F(IntelSys, TheProcessorsOwnIsIntegratedAndTakesPartInTheNumbers) {
  add("0000:00:02.0", "i915", 0);
  add("0000:03:00.0", "xe", 1);
  IntelSource intel = source();
  const DeviceLook first = look(intel, 0);
  const DeviceLook second = look(intel, 1);
  EXPECT_TRUE(first.devices[0].integrated);
  EXPECT_FALSE(second.devices[0].integrated);
  EXPECT_EQ(second.devices[0].runtime_index, 1);
  EXPECT_EQ(second.devices[0].kernel_driver.get(), "xe");
  EXPECT_EQ(second.devices[0].minor_number, 129U);
}

TEST_F(IntelSys, HowBusyItIsIsWhatItDidNotSleep) {
  add("0000:03:00.0", "xe", 1);
  const std::string tile = "bus/pci/devices/0000:03:00.0/tile0/";
  put(tile + "gt0/gtidle/idle_residency_ms", "1000\n");
  put(tile + "gt1/gtidle/idle_residency_ms", "5000\n");
  IntelSource intel = source();
  EXPECT_EQ(look(intel, 0).devices[0].utilization_gpu.why(), Absent::not_sampled);
  put(tile + "gt0/gtidle/idle_residency_ms", "1250\n");
  put(tile + "gt1/gtidle/idle_residency_ms", "6000\n");
  EXPECT_EQ(look(intel, 0).devices[0].utilization_gpu, Percent{75});
}

TEST_F(IntelSys, PowerIsTheEnergyThatMoves) {
  add("0000:03:00.0", "xe", 1);
  const std::string hwmon = "bus/pci/devices/0000:03:00.0/hwmon/hwmon3/";
  put(hwmon + "name", "xe\n");
  put(hwmon + "energy1_input", "0\n");
  put(hwmon + "energy2_input", "5000000\n");
  put(hwmon + "power1_max", "0\n");
  put(hwmon + "power2_max", "190000000\n");
  put(hwmon + "temp2_label", "pkg\n");
  put(hwmon + "temp2_input", "41000\n");
  put(hwmon + "temp3_label", "vram\n");
  put(hwmon + "temp3_input", "44000\n");
  IntelSource intel = source();
  EXPECT_EQ(look(intel, 0).devices[0].power_draw.why(), Absent::not_sampled);
  put(hwmon + "energy2_input", "35000000\n");
  const Device card = look(intel, 0).devices[0];
  EXPECT_EQ(card.power_draw, Milliwatts{30'000});
  EXPECT_EQ(card.energy, Millijoules{35'000});
  EXPECT_EQ(card.power_limit, Milliwatts{190'000});
  EXPECT_EQ(card.temperature, Celsius{41});
  EXPECT_EQ(card.temperature_memory, Celsius{44});
}

TEST_F(IntelSys, WhatHoldsTheClocksBack) {
  add("0000:03:00.0", "xe", 1);
  const std::string freq = "bus/pci/devices/0000:03:00.0/tile0/gt0/freq0/";
  put(freq + "act_freq", "2400\n");
  put(freq + "throttle/status", "0\n");
  IntelSource intel = source();
  EXPECT_EQ(look(intel, 0).devices[0].throttle_reasons, ClockReasons{0});
  put(freq + "throttle/status", "1\n");
  put(freq + "throttle/reason_pl1", "1\n");
  const Device card = look(intel, 0).devices[0];
  EXPECT_EQ(card.clock_graphics, Megahertz{2400});
  EXPECT_TRUE(has_any(*card.throttle_reasons.get(), ClockReason::power_cap));
}

TEST_F(IntelSys, WhatOthersHoldIsNotKnownToThoseWhoMayNotSee) {
  add("0000:03:00.0", "xe", 1);
  IntelSource intel = source();
  EXPECT_EQ(look(intel, 0).devices[0].memory_used.why(), Absent::failed) << "no /proc";
  std::filesystem::create_directories(root / "proc/50/fd");
  std::filesystem::create_directories(root / "proc/50/fdinfo");
  std::filesystem::create_symlink("/dev/dri/renderD129", root / "proc/50/fd/4");
  put("proc/50/fdinfo/4",
      "drm-driver: xe\ndrm-client-id: 9\ndrm-resident-vram0: 64 MiB\ndrm-cycles-ccs: 5\n"
      "drm-total-cycles-ccs: 10\n");
  const DeviceLook seen = look(intel, 0);
  ASSERT_THAT(seen.processes, SizeIs(1));
  EXPECT_EQ(seen.processes[0].use, GpuUse::compute);
  EXPECT_EQ(seen.devices[0].memory_used, Bytes{std::uint64_t{64} << 20U})
      << "of all, a lower bound";
  std::filesystem::create_directories(root / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026532000]", root / "proc/self/ns/pid");
  const Device inside = look(intel, 0).devices[0];
  EXPECT_EQ(inside.memory_used.why(), Absent::no_permission) << "a container: others may be there";
  EXPECT_EQ(inside.process_count.why(), Absent::no_permission);
}

TEST_F(IntelSys, MemoryIsToldByTheDriversFileOrNotAtAll) {
  constexpr Bytes six_gib{std::uint64_t{6} << 30U};
  add("0000:00:02.0", "i915", 0);
  add("0000:03:00.0", "i915", 1);
  add("0000:04:00.0", "xe", 2);
  const std::string of_card = "bus/pci/devices/0000:03:00.0/";
  const std::string of_tiles = "bus/pci/devices/0000:04:00.0/";
  // A range of addresses is no size: a card of 6 GiB has one of 8.
  put(of_card + "resource", "0x0000000400000000 0x00000005ffffffff 0x000000000014220c\n");
  IntelSource intel = source();
  EXPECT_EQ(look(intel, 1).devices[0].memory_total.why(), Absent::unsupported);
  EXPECT_EQ(look(intel, 2).devices[0].memory_total.why(), Absent::unsupported);
  put(of_card + "drm/card1/lmem_total_bytes", "6442450944\n");
  put(of_tiles + "tile0/physical_vram_size_bytes", "3221225472\n");
  put(of_tiles + "tile1/physical_vram_size_bytes", "3221225472\n");
  EXPECT_EQ(look(intel, 1).devices[0].memory_total, six_gib);
  EXPECT_EQ(look(intel, 2).devices[0].memory_total, six_gib) << "of all tiles";
  EXPECT_FALSE(look(intel, 1).devices[0].memory_free.get()) << "what is used is a lower bound";
  EXPECT_FALSE(look(intel, 0).devices[0].memory_total.get()) << "the processor's";
  std::filesystem::remove(root / (of_tiles + "tile1/physical_vram_size_bytes"));
  EXPECT_EQ(look(intel, 2).devices[0].memory_total.why(), Absent::unsupported)
      << "a part is not the whole";
}

TEST_F(IntelSys, ACardThatSleepsIsNotWokenUp) {
  add("0000:03:00.0", "xe", 1);
  const std::string card = "bus/pci/devices/0000:03:00.0/";
  put(card + "power/runtime_status", "suspended\n");
  put(card + "tile0/gt0/freq0/act_freq", "2400\n");
  IntelSource intel = source();
  const Device seen = look(intel, 0).devices[0];
  EXPECT_EQ(seen.unusable_because, Unusable::asleep);
  EXPECT_FALSE(seen.clock_graphics.get());
  EXPECT_EQ(look(intel, 0, Wanted(Depth::state).add(Extra::sleepers)).devices[0].clock_graphics,
            Megahertz{2400});
}

}  // namespace
}  // namespace berth
