#include "base/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GroupFolders, AreItsOwnAndThoseAbove) {
  constexpr std::string_view text = "12:memory:/x\n4:cpu,cpuacct:/y\n0::/user.slice/a.scope\n";
  EXPECT_THAT(group_folders(text, "", "/c"),
              ElementsAre("/c/user.slice/a.scope", "/c/user.slice", "/c"));
  EXPECT_THAT(group_folders(text, "memory", "/c"), ElementsAre("/c/memory/x", "/c/memory"));
  EXPECT_THAT(group_folders(text, "cpu", "/c"),
              ElementsAre("/c/cpu/y", "/c/cpu", "/c/cpu,cpuacct/y", "/c/cpu,cpuacct"));
  EXPECT_THAT(group_folders("0::/\n", "", "/c"), ElementsAre("/c"));
}

TEST(GroupFolders, AreNoneWithoutSuchAGroupOrOutsideOfTheContainer) {
  EXPECT_THAT(group_folders("12:memory:/x\n", "", "/c"), IsEmpty());
  EXPECT_THAT(group_folders("0::/../other\n", "", "/c"), IsEmpty());
  for (const char* none : {"", "4:cpu", "4:cpu:none", "::"}) {
    EXPECT_THAT(group_folders(none, "cpu", "/c"), IsEmpty()) << none;
  }
}

class CpuQuota : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = folder_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  TemporaryDirectory folder_;
};

TEST_F(CpuQuota, IsTheTightestUpToTheTop) {
  const auto quota = [&] { return cpu_quota("4:cpu,cpuacct:/b\n0::/a/b\n", folder_.path()); };
  EXPECT_EQ(quota(), std::nullopt);
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5) << "of the group above";
  write("cpu,cpuacct/b/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2.5);
  write("cpu,cpuacct/b/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 1.5);
  write("cpu,cpuacct/b/cpu.cfs_period_us", "0\n");
  EXPECT_EQ(quota(), 2.5) << "no period";
}

}  // namespace
}  // namespace berth
