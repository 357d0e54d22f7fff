#include "probe/sysfs/bus.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "probe/pci/parse.h"

namespace berth {
namespace {

constexpr std::uint32_t huawei = 0x19e5;

class SysBus : public testing::Test {
 protected:
  void add(const std::string& address, const std::string& vendor, const std::string& pci_class) {
    const std::string folder = root / ("bus/pci/devices/" + address);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file_atomically(folder + "/vendor", vendor + "\n"));
    ASSERT_TRUE(write_file_atomically(folder + "/class", pci_class + "\n"));
  }
  TemporaryDirectory root;
};

TEST_F(SysBus, AFunctionIsFoundByItsMakerAndClass) {
  add("0000:03:00.0", "0x19e5", "0x020000");
  EXPECT_FALSE(sysfs::has_function_of(huawei, pci::is_wanted_class, root.path()));
  EXPECT_TRUE(sysfs::has_function_of(huawei, nullptr, root.path()));
  add("0000:04:00.0", "0x19e5", "0x120000");
  EXPECT_TRUE(sysfs::has_function_of(huawei, pci::is_wanted_class, root.path()));
  EXPECT_FALSE(sysfs::has_function_of(0x10de, nullptr, root.path()));
}

TEST_F(SysBus, WithoutABusNobodyHasAFunction) {
  EXPECT_FALSE(sysfs::has_function_of(huawei, nullptr, root.path()));
}

TEST_F(SysBus, CardsOfDriversAreTheirFunctionsThatCompute) {
  const auto bind = [&](const std::string& driver, const std::string& entry) {
    std::filesystem::create_directories(root / ("bus/pci/drivers/" + driver + "/" + entry));
  };
  add("0000:83:00.0", "0x8086", "0x038000");
  add("0000:03:00.0", "0x8086", "0x030000");
  add("0000:04:00.0", "0x8086", "0x040300");
  bind("xe", "0000:83:00.0");
  bind("xe", "0000:04:00.0");
  bind("xe", "module");
  bind("i915", "0000:03:00.0");
  constexpr std::array<std::string_view, 3> drivers = {"xe", "", "i915"};
  const auto cards = sysfs::cards_of_drivers(drivers, root.path());
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].address, "00000000:03:00.0");
  EXPECT_EQ(cards[0].driver, "i915");
  EXPECT_EQ(cards[0].folder, root / "bus/pci/devices/0000:03:00.0");
  EXPECT_EQ(cards[1].address, "00000000:83:00.0");
}

}  // namespace
}  // namespace berth
