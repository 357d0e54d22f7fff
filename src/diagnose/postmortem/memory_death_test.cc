#include "diagnose/postmortem/memory_death.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "base/temporary_directory.h"
#include "diagnose/postmortem/ended_run_test.h"
#include "record/record_writer.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using namespace literals;

constexpr auto torch_says =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n";

TEST(MemoryDeath, IsWhatItsOutputSaysLast) {
  const RunRecord run = ended_run({.code = 1});
  const LogText died(torch_says);
  EXPECT_TRUE(died_of_gpu_memory({.run = run, .log = &died}));
  const LogText other("ValueError: no such file\n");
  EXPECT_FALSE(died_of_gpu_memory({.run = run, .refusals = 3, .log = &other}))
      << "a refusal that it went on after";
}

TEST(MemoryDeath, IsWhatItsShareRefusedWhereNoOutputIsKept) {
  const RunRecord run = ended_run({.code = 1});
  EXPECT_TRUE(died_of_gpu_memory({.run = run, .refusals = 1}));
  EXPECT_FALSE(died_of_gpu_memory({.run = run}));
  const RunRecord killed = ended_run({.signal = SIGSEGV});
  EXPECT_FALSE(died_of_gpu_memory({.run = killed, .refusals = 1}));
}

TEST(MemoryDeath, IsTheWatchdogsEndAndNoOtherOfBerths) {
  const RunRecord over = ended_run({.signal = SIGTERM}, end_cause::memory_cap);
  EXPECT_TRUE(died_of_gpu_memory({.run = over}));
  const LogText died(torch_says);
  const RunRecord stopped = ended_run({.code = 1}, end_cause::stopped);
  EXPECT_FALSE(died_of_gpu_memory({.run = stopped, .log = &died}));
  const RunRecord well = ended_run({});
  EXPECT_FALSE(died_of_gpu_memory({.run = well, .log = &died}));
}

TEST(MemoryDeath, SaysWhoHeldHowMuchOfTheDeviceAndNothingThatWasNotSeen) {
  const RunRecord run = ended_run({.code = 1});
  Sample last;
  last.devices = {{.memory_used = Bytes(79_GiB)}};
  last.processes = {{.device = 0, .pid = 4711, .memory = Bytes(20_GiB)}};
  last.others = {{.device = 0, .user = "anna", .memory = Bytes(40_GiB)},
                 {.device = 0, .user = "", .memory = Absent::no_permission}};
  const std::string text = holders_text(run.manifest, last).english();
  EXPECT_THAT(
      text,
      HasSubstr(
          "79.0 GiB of 80.0 GiB were in use (20251121-014946-k3f9q2 20.0 GiB, anna 40.0 GiB)"));
  EXPECT_THAT(holders_text(run.manifest, Sample{}).english(), HasSubstr("was not sampled"));
}

TEST(MemoryDeath, TellsWhoHeldItBeforeTheJobLetItGo) {
  const TemporaryDirectory folder;
  RunRecord run = ended_run({.signal = SIGTERM}, end_cause::memory_cap);
  run.owner = FileOwner::ourselves();
  run.directory = folder.path();
  Sample held{.at = WallTime{1000}};
  held.devices = {{.memory_used = Bytes(79_GiB)}};
  held.processes = {{.device = 0, .pid = 4711, .memory = Bytes(20_GiB)}};
  Sample after{.at = WallTime{2000}};
  after.devices = {{.memory_used = Bytes(1_GiB)}};
  std::ofstream(folder / std::string(record_file::samples))
      << samples_header() << to_line(held) << to_line(after);
  const auto said = who_held_its_memory(run);
  ASSERT_TRUE(said);
  EXPECT_THAT(said->english(), HasSubstr("79.0 GiB of 80.0 GiB were in use"));
  run.end->because = end_cause::stopped;
  EXPECT_EQ(who_held_its_memory(run), std::nullopt);
}

}  // namespace
}  // namespace berth
