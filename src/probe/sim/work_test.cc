#include "probe/sim/work.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth::sim {
namespace {

using namespace berth::literals;

constexpr WallTime now{1'000'000};  // 1000 s

Snapshot server(std::string architecture = "Hopper") {
  return SnapshotBuilder()
      .gpu("GPU-A", 80_GiB)
      .with([&](Device& device) {
        device.architecture = architecture;
        device.power_draw = 100_watts;
        device.power_limit = 700_watts;
        device.pcie_received = Bytes{1000};
        device.clock_sm = 345_MHz;
        device.clock_sm_max = 2000_MHz;
        device.throttle_reasons = ClockReasons(1);
      })
      .build();
}

WorkFile file(std::string_view lines) {
  WorkFile work;
  work.feed(R"({"process": {"pid": 7, "devices": [0], "memory_bytes": 1073741824}})");
  work.feed(lines);
  return work;
}

Snapshot shown(std::string_view lines, std::optional<WallTime> since = WallTime{999'000}) {
  Snapshot snapshot = server();
  put_work(snapshot, {file(lines)}, now, since);
  return snapshot;
}

TEST(Work, ADeviceIsBusyWhileKernelsRun) {
  const Snapshot got =
      shown(R"({"kernel": [0, 999.5, 0.25], "sm": 80, "tensor": 40, "dram": 20, "power": 1.0})");
  const Device& device = got.devices[0];
  EXPECT_EQ(device.utilization_gpu, Percent(25));
  EXPECT_NEAR(device.details.get<Percent>(Detail::activity_sm).get()->count(), 20, 0.01);
  EXPECT_EQ(device.power_draw, 250_watts) << "a quarter of what lies between idle and the limit";
  EXPECT_EQ(device.memory_used, 1_GiB);
  ASSERT_EQ(got.gpu_processes.size(), 1U);
  EXPECT_EQ(got.gpu_processes[0].pid, 7);
  EXPECT_EQ(got.gpu_processes[0].utilization_sm, Percent(25));
}

TEST(Work, KernelsThatOverlapCountOnceAndManyShortOnesAddUp) {
  EXPECT_EQ(shown(R"({"kernel": [0, 999.5, 0.3], "sm": 50}
{"kernel": [0, 999.6, 0.3], "sm": 50})")
                .devices[0]
                .utilization_gpu,
            Percent(40));
  EXPECT_EQ(shown(R"({"kernel": [0, 999.0, 0.0002], "every": 0.001, "count": 1000, "sm": 5})")
                .devices[0]
                .utilization_gpu,
            Percent(20));
}

TEST(Work, ACopyMovesBytesAndIsNoKernel) {
  const Device half = shown(R"({"copy": [0, 999.5, 1.0], "received": 2000})").devices[0];
  EXPECT_EQ(half.utilization_gpu, Percent(0));
  EXPECT_EQ(half.pcie_received, Bytes(2000)) << "half of it has gone over, beside what was before";
}

TEST(Work, WhatIsForgottenKeepsItsBytes) {
  WorkFile work = file(R"({"copy": [0, 900, 1.0], "received": 2000})");
  work.forget(980);
  EXPECT_TRUE(work.pieces.empty());
  Snapshot snapshot = server();
  put_work(snapshot, {work}, now, std::nullopt);
  EXPECT_EQ(snapshot.devices[0].pcie_received, Bytes(3000));
}

TEST(Work, HeatAndPowerHoldTheClocksFromThenOn) {
  const Device hot = shown(R"({"kernel": [0, 999, 1], "sm": 50}
{"state": [0, 990], "throttle": ["heat"], "clock": 0.5})")
                         .devices[0];
  EXPECT_EQ(hot.clock_sm, 1000_MHz);
  EXPECT_EQ(hot.throttle_reasons, ClockReasons(0x20));
  const Device later = shown(R"({"kernel": [0, 999, 1], "sm": 50}
{"state": [0, 1001], "throttle": ["power"], "clock": 0.5})")
                           .devices[0];
  EXPECT_EQ(later.throttle_reasons, ClockReasons(0));
}

TEST(Work, OnlyHopperAndNewerCountTheirSms) {
  Snapshot old = server("Ampere");
  put_work(old, {file(R"({"kernel": [0, 999, 1], "sm": 50})")}, now, std::nullopt);
  EXPECT_EQ(old.devices[0].details.get<Percent>(Detail::activity_sm).why(), Absent::unsupported);
}

TEST(Work, LinesThatSayNothingKnownAreCounted) {
  WorkFile work;
  work.feed(
      "hello\n{}\n{\"kernel\":[0]}\n{\"kernel\":[99,1,1]}\n{\"process\":{\"pid\":-1,\"devices\":[]}"
      "}\n"
      "{\"kernel\":[0,1e99,1]}\n[[[[[[[[]]]]]]]]\n");
  EXPECT_EQ(work.bad_lines, 7U);
  EXPECT_TRUE(work.pieces.empty());
  EXPECT_FALSE(work.process);
}

TEST(WorkFolder, ReadsWhatWasAddedAndLeavesOutWhoHasEnded) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/one.work";
  WorkFolder work(folder.path());
  std::ofstream(path) << R"({"process": {"pid": )" << ::getpid() << R"(, "devices": [0]}})" << "\n"
                      << R"({"kernel": [0, 999, 1]})";  // not whole yet
  auto files = work.read(now, "/proc");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files[0].pieces.empty());
  std::ofstream(path, std::ios::app) << "\n" << R"({"kernel": [0, 999.5, 1]})" << "\n";
  files = work.read(now, "/proc");
  EXPECT_EQ(files.at(0).pieces.size(), 2U);
  std::ofstream(folder.path() + "/gone.work")
      << R"({"process": {"pid": 2147483646, "devices": [0]}})" << "\n";
  EXPECT_EQ(work.read(now, "/proc").size(), 1U);
}

}  // namespace
}  // namespace berth::sim
