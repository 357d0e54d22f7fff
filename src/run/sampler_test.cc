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

TEST(OwnMemory, IsTheSumOfTheRunsProcessesOrTheReasonThatThereIsNone) {
  Snapshot host = host_with_lists(2U);
  const Device* device = &host.devices[1];
  const auto own = [&](std::vector<ProcessSample> processes) {
    return own_memory(processes, 1, device, host.host).own;
  };
  const ProcessSample elsewhere{.device = 0, .pid = 7, .memory = 9_GiB};
  const ProcessSample first{.device = 1, .pid = 7, .memory = 1_GiB};
  const ProcessSample second{.device = 1, .pid = 9, .memory = 2_GiB};
  const ProcessSample untold{.device = 1, .pid = 9, .memory = Absent::unsupported};
  EXPECT_EQ(own({elsewhere, first, second}), Reading<Bytes>(3_GiB));
  EXPECT_EQ(own({first, untold}), Reading<Bytes>(Absent::unsupported));
  EXPECT_EQ(own({}), Reading<Bytes>(0_B));
  host.devices[1].process_count = Absent::no_permission;
  EXPECT_EQ(own({}), Reading<Bytes>(Absent::no_permission)) << "nobody was listed to us";
  host.devices[1].unusable_because = Unusable::silent;
  EXPECT_EQ(own({first}), Reading<Bytes>(Absent::not_sampled)) << "of another second";
  EXPECT_EQ(own_memory({first}, 1, nullptr, host.host).own, Reading<Bytes>(Absent::not_sampled));
}

TEST(OwnMemory, InAContainerOfNoneThatIsKnownIsNotNothing) {
  Snapshot host = host_with_lists(2U);
  host.host.process_view = std::string("namespace");
  const WatchedMemory unseen = own_memory({}, 1, &host.devices[1], host.host);
  EXPECT_EQ(unseen.own, Reading<Bytes>(Absent::unsupported));
  EXPECT_THAT(std::string(unseen.unread_because), testing::HasSubstr("this container"));
  const ProcessSample found{.device = 1, .pid = 7, .memory = 1_GiB};
  EXPECT_EQ(own_memory({found}, 1, &host.devices[1], host.host).own, Reading<Bytes>(1_GiB));
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
