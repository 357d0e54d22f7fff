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

}  // namespace
}  // namespace berth
