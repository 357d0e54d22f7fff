#include "run/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

Snapshot host_with_lists(Reading<std::uint64_t> second) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 24_GiB)
                      .process(7, "ann", 1_GiB)
                      .gpu("B", 24_GiB)
                      .process(7, "ann", 1_GiB)
                      .process(8, "bob", 1_GiB)
                      .build();
  host.devices[0].process_count = std::uint64_t{1};
  host.devices[1].process_count = second;
  return host;
}

TEST(ListedOnGpus, CountsEachProcessOfTheTreeOnce) {
  EXPECT_EQ(listed_on_gpus(host_with_lists(2U), {7, 9}), Reading<std::uint64_t>(1U));
  EXPECT_EQ(listed_on_gpus(host_with_lists(2U), {9}), Reading<std::uint64_t>(0U));
}

TEST(ListedOnGpus, NoneIsNotKnownWhereAListIsMissingOrThereIsNoDevice) {
  EXPECT_EQ(listed_on_gpus(host_with_lists(Absent::failed), {9}),
            Reading<std::uint64_t>(Absent::failed));
  EXPECT_EQ(listed_on_gpus(host_with_lists(Absent::failed), {7}), Reading<std::uint64_t>(1U));
  EXPECT_EQ(listed_on_gpus(Snapshot(), {9}), Reading<std::uint64_t>(Absent::unsupported));
}

TEST(WithDeviceOpen, IsNotKnownWhereAProcessMayNotBeLookedInto) {
  const TemporaryDirectory proc;
  const auto process = [&](const std::string& pid) { return proc.path() + "/" + pid + "/fd"; };
  std::filesystem::create_directories(process("7"));
  std::filesystem::create_symlink("/dev/null", process("7") + "/0");
  const auto open_in = [&](const std::vector<pid_t>& tree) {
    return with_device_open(tree, {"/dev/nvidia"}, proc.path());
  };
  EXPECT_EQ(open_in({7, 99}), Reading<std::uint64_t>(0U)) << "who has gone has nothing open";
  std::filesystem::create_directories(proc.path() + "/8");
  std::filesystem::create_symlink("fd", process("8"));  // a loop: no directory can be read there
  EXPECT_EQ(open_in({7, 8}), Reading<std::uint64_t>(Absent::failed));
  std::filesystem::create_symlink("/dev/nvidia0", process("7") + "/3");
  EXPECT_EQ(open_in({7, 8}), Reading<std::uint64_t>(1U));
}

}  // namespace
}  // namespace berth
