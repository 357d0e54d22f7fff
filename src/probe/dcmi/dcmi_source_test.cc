// A fake libdcmi: two cards as a 910B2 and an Atlas A3 with two chips told of themselves
// (npu-smi info of real machines).

#include "probe/dcmi/dcmi_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "snapshot/device_kind.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct FakeChips {
  int processes = 1;
  unsigned health = 0;
  int initialised = 0;
  int die = 0, logic = 0, health_code = 0, list = 0, type = 0;  // what these calls answer
  int cards = 2;
};
FakeChips fake;

/// Card 0 has one chip, card 3 two.
dcmi::Api fake_api() {
  dcmi::Api api;
  api.dcmi_init = [] { return ++fake.initialised, fake.initialised > 0 ? 0 : -8005; };
  api.dcmi_get_card_list = [](int* count, int* cards, int) {
    *count = fake.cards;
    cards[0] = 0;
    cards[1] = 3;
    return fake.list;
  };
  api.dcmi_get_device_num_in_card = [](int card, int* count) {
    *count = card == 3 ? 3 : 1;
    return 0;
  };
  api.dcmi_get_device_type = [](int, int chip, int* type) {
    *type = chip == 2 ? 1 : 0;  // the card's own controller
    return fake.type;
  };
  api.dcmi_get_device_logic_id = [](int* logic, int card, int chip) {
    *logic = card == 0 ? 0 : 1 + chip;
    return fake.logic;
  };
  api.dcmi_get_device_phyid_from_logicid = [](unsigned logic, unsigned* physical) {
    *physical = logic + 4;
    return 0;
  };
  api.dcmi_get_device_chip_info_v2 = [](int, int, dcmi_chip_info_v2* info) {
    std::memcpy(info->chip_name, "910B2", 6);
    return 0;
  };
  api.dcmi_get_device_pcie_info_v2 = [](int card, int chip, dcmi_pcie_info_all* info) {
    info->bdf_busid = card == 0 ? 0xc1 : 0x81 + static_cast<unsigned>(chip);
    return 0;
  };
  api.dcmi_get_device_die_v2 = [](int card, int chip, int, dcmi_die_id* die) {
    if (card == 3 && chip == 1) return -8255;
    if (fake.die != 0) return fake.die;
    const unsigned parts[] = {0xE0F4EE64, 0x802061B1, 0x6A691492, 0x89528485, 0x104301E3};
    std::memcpy(die->soc_die, parts, sizeof parts);
    die->soc_die[0] += static_cast<unsigned>(card);
    return 0;
  };
  api.dcmi_get_device_hbm_info = [](int, int, dcmi_hbm_info* hbm) {
    *hbm = {.memory_size = 65536,
            .freq = 1600,
            .memory_usage = 3432,
            .temp = 47,
            .bandwith_util_rate = 3};
    return 0;
  };
  api.dcmi_get_device_utilization_rate = [](int, int, int type, unsigned* percent) {
    *percent = type == 2 ? 37 : 0;
    return 0;
  };
  api.dcmi_get_device_power_info = [](int card, int chip, int* tenths) {
    if (card == 3 && chip == 1) return -8255;
    *tenths = 1013;
    return 0;
  };
  api.dcmi_get_device_temperature = [](int, int, int* celsius) {
    *celsius = 45;
    return 0;
  };
  api.dcmi_get_device_health = [](int, int, unsigned* health) {
    *health = fake.health;
    return fake.health_code;
  };
  api.dcmi_get_device_resource_info = [](int, int chip, dcmi_proc_mem_info* told, int* count) {
    *count = chip == 0 ? fake.processes : 0;
    for (int i = 0; i < std::min(*count, 1024); ++i) told[i] = {4100 + i, 197UL << 20U};
    return 0;
  };
  return api;
}

class Ascend : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  TemporaryDirectory root;
};

TEST_F(Ascend, ChipsOfACardAreDevices) {
  DcmiSource source(root.path(), fake_api());
  ASSERT_EQ(source.open().value_or(0), 3);
  const DeviceLook first = source.observe_device(0, Depth::state, {});
  const Device& chip = first.devices[0];
  EXPECT_EQ(chip.name.get(), "Ascend 910B2");
  EXPECT_EQ(chip.id.text(), "NPU-e0f4ee64-802061b1-6a691492-89528485-104301e3");
  EXPECT_EQ(chip.pci_address.get(), "00000000:c1:00.0");
  EXPECT_EQ(chip.runtime_index, 0);
  EXPECT_EQ(chip.minor_number, 4U) << "the file's number is another";
  EXPECT_EQ(chip.memory_total, Bytes{std::uint64_t{65536} << 20U});
  EXPECT_EQ(chip.memory_used, Bytes{std::uint64_t{3432} << 20U});
  EXPECT_EQ(chip.utilization_gpu, Percent{37});
  EXPECT_EQ(chip.power_draw, Milliwatts{101'300});
  EXPECT_EQ(chip.temperature, Celsius{45});
  EXPECT_EQ(chip.clock_graphics.why(), Absent::unsupported) << "this library lacks the function";
  EXPECT_THAT(first.processes, ElementsAre(testing::Field(&GpuProcess::pid, 4100)));
  const Device third = source.observe_device(2, Depth::state, {}).devices[0];
  EXPECT_EQ(third.power_draw.why(), Absent::unsupported) << "the first chip tells the card's";
  EXPECT_EQ(third.id.text(), "00000000:82:00.0") << "it has no number of its own";
  EXPECT_EQ(third.process_count, 0U);
}

TEST_F(Ascend, WhatADriverOverstatesIsNotBelieved) {
  fake.processes = 5000;
  DcmiSource source(root.path(), fake_api());
  ASSERT_TRUE(source.open());
  const DeviceLook look = source.observe_device(0, Depth::state, {});
  EXPECT_EQ(look.devices[0].process_count.why(), Absent::failed);
  EXPECT_TRUE(look.processes.empty());
}

TEST_F(Ascend, AChipThatIsCriticalIsNotGiven) {
  fake.health = 3;
  DcmiSource source(root.path(), fake_api());
  ASSERT_TRUE(source.open());
  EXPECT_THAT(source.observe_device(0, Depth::state, {}).devices[0].unusable_because.english(),
              HasSubstr("critical"));
}

TEST_F(Ascend, AChipThatTheDriverHasNoLongerIsLost) {
  for (const int code : {-8012, -8008, -8007}) {
    DcmiSource source(root.path(), fake_api());
    ASSERT_TRUE(source.open());
    (void)source.observe_device(0, Depth::state, {});
    fake.health_code = code;
    const Device gone = source.observe_device(0, Depth::state, {}).devices[0];
    EXPECT_TRUE(gone.lost) << code;
    EXPECT_EQ(gone.id.text(), "NPU-e0f4ee64-802061b1-6a691492-89528485-104301e3");
    EXPECT_EQ(gone.memory_used, Reading<Bytes>(Absent::failed)) << "its readings are no more";
    fake.health_code = -8006;  // it took too long
    EXPECT_FALSE(source.observe_device(0, Depth::state, {}).devices[0].lost);
    fake.health_code = 0;
    EXPECT_FALSE(source.observe_device(0, Depth::state, {}).devices[0].lost) << "it is back";
  }
}

TEST_F(Ascend, ChipsAreListedAnewAtEachLook) {
  DcmiSource source(root.path(), fake_api());
  ASSERT_EQ(source.open().value_or(0), 3);
  fake.cards = 1;
  EXPECT_EQ(source.open().value_or(0), 1) << "MissingDevices calls the others lost";
  fake.cards = 2;
  EXPECT_EQ(source.open().value_or(0), 3);
  fake.list = -8005;
  EXPECT_EQ(source.open().value_or(0), 3) << "who cannot list for a moment misses nobody";
  fake.list = 0;
  fake.type = -8005;
  EXPECT_EQ(source.open().value_or(0), 3) << "nor who cannot say what a unit is";
  EXPECT_EQ(fake.initialised, 1);
}

TEST_F(Ascend, AChipWhoseNumbersCannotBeReadForAMomentIsNoOtherChip) {
  for (int FakeChips::* call : {&FakeChips::die, &FakeChips::logic}) {
    DcmiSource source(root.path(), fake_api());
    ASSERT_TRUE(source.open());
    fake.*call = -8020;
    EXPECT_EQ(source.observe_device(0, Depth::state, {}).devices[0].unusable_because,
              Unusable::unanswered);
    fake.*call = 0;
    const Device chip = source.observe_device(0, Depth::state, {}).devices[0];
    EXPECT_EQ(chip.unusable_because, Unusable::none);
    EXPECT_EQ(chip.id.text(), "NPU-e0f4ee64-802061b1-6a691492-89528485-104301e3");
    EXPECT_EQ(chip.runtime_index, 0);
  }
}

TEST_F(Ascend, WithoutTheLibraryItsAbsenceIsTheReason) {
  DcmiSource source(root.path());
  const auto count = source.open();
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, "library_not_found");
  EXPECT_THAT(count.error().message.english(), HasSubstr("libdcmi.so"));
}

TEST_F(Ascend, TheDriversVersionIsItsFiles) {
  const std::string folder = root / "usr/local/Ascend/driver";
  ASSERT_TRUE(make_directories(folder));
  ASSERT_TRUE(write_file_atomically(folder + "/version.info", "Version=25.5.1\nrc=1\n"));
  DcmiSource source(root.path(), fake_api());
  ASSERT_TRUE(source.open());
  Host host;
  std::vector<Problem> problems;
  source.observe_host(host, Depth::state, problems);
  EXPECT_EQ(host.software_of(Runtime::cann).driver.get(), "25.5.1");
}

}  // namespace
}  // namespace berth
