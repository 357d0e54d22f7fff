#include "snapshot/kernel_messages.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(ParseXid, TakesPlaceCodeProcessAndText) {
  const auto event = parse_xid(
      "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->pci_address, "00000000:3b:00.0");
  EXPECT_EQ(event->code, 79U);
  EXPECT_EQ(event->pid, Reading<std::uint64_t>(1234));
  EXPECT_EQ(event->process, Reading<std::string>("python"));
  EXPECT_EQ(event->text, "GPU has fallen off the bus.");
}
TEST(ParseXid, DriversThatNameNoProcess) {
  const auto old = parse_xid("NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->code, 31U);
  EXPECT_FALSE(old->pid.has_value());
  EXPECT_EQ(old->text, "Ch 0000000b, engmask 00000120");
  const auto unknown =
      parse_xid("NVRM: Xid (PCI:0000:c1:00): 119, pid='<unknown>', name=<unknown>, Timeout");
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(unknown->pid.has_value());
  EXPECT_FALSE(unknown->process.has_value());
  EXPECT_EQ(unknown->text, "Timeout");
}
TEST(ParseXid, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "NVRM: loading", "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (nowhere): 79",
        "NVRM: Xid (PCI:0000:3b:00): x", "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999"}) {
    EXPECT_FALSE(parse_xid(text)) << text;
  }
}
TEST(ParseOomKill, TakesWhomTheKernelKilledAndWhy) {
  const auto group = parse_oom_kill(
      "Memory cgroup out of memory: Killed process 23793 (leaker) total-vm:2623712kB, "
      "anon-rss:506500kB, file-rss:1268kB, shmem-rss:0kB");
  ASSERT_TRUE(group);
  EXPECT_EQ(group->pid, 23793);
  EXPECT_EQ(group->process, "leaker");
  EXPECT_TRUE(group->of_group);
  EXPECT_EQ(group->resident, Bytes(506'500ULL << 10));
  const auto old =
      parse_oom_kill("Out of memory: Kill process 1234 (python3) score 900 or sacrifice child");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->pid, 1234);
  EXPECT_FALSE(old->of_group);
  EXPECT_EQ(old->resident, std::nullopt);
}
TEST(ParseOomKill, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "Out of memory: Killed process", "Out of memory: Killed process x (y)",
        "Out of memory: Killed process 0 (y)", "oom_reaper: reaped process 23793 (leaker)",
        "Out of memory: Killed process 99999999999999 (y)", ") ut of memory: Killed process 1 ("}) {
    EXPECT_FALSE(parse_oom_kill(text)) << text;
  }
}
TEST(ParseDriverLoad, TakesTheModulesVersion) {
  const auto closed = parse_driver_load(
      "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024");
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->version, "550.54.15");
  const auto open = parse_driver_load(
      "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->version, "575.57.08");
}
TEST(ParseDriverLoad, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "NVRM: loading NVIDIA ", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
        "python: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  "
        "550.54.15"}) {
    EXPECT_FALSE(parse_driver_load(text)) << text;
  }
}

TEST(NumberByDate, IsTheSameInEachLook) {
  const auto event = [](std::uint64_t code, std::int64_t ms) {
    return XidEvent{.code = code, .at = {ms}};
  };
  Reading<std::vector<XidEvent>> first = std::vector{event(79, 4000), event(31, 1000)};
  number_by_date(first);
  EXPECT_EQ(first.get()->front().code, 31U);
  Reading<std::vector<XidEvent>> second = std::vector{event(79, 4000), event(31, 4000)};
  number_by_date(second);
  EXPECT_EQ(second.get()->front(), first.get()->back()) << "what came before is told no more";
  EXPECT_GT(second.get()->back().number, first.get()->back().number);
}

}  // namespace
}  // namespace berth
