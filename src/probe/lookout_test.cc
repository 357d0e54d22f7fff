// The subject is what happens to real processes that hang or die, so these tests fork; what they
// wait for is the stall, a few hundredths of a second.

#include "probe/lookout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/temporary_directory.h"
#include "probe/process_files.h"

namespace berth {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Snapshot looked(Lookout& lookout, Clock& clock, const std::vector<Claim>& claims = {}) {
  lookout.begin(Depth::everything, claims, clock);
  while (true) {
    if (auto snapshot = lookout.advance(clock)) return std::move(*snapshot);
    if (const auto news = lookout.descriptor()) {
      static_cast<void>(wait_readable({*news}, lookout.patience()));
    }
  }
}

Sources without_driver() {
  Sources sources;
  sources.nvml_library = "/nonexistent/libnvidia-ml.so.1";
  return sources;
}

TEST(Lookout, SimulatedServerMovesFromLookToLook) {
  Sources sources;
  sources.simulated = "server-8xh100";
  auto lookout = Lookout::start(sources);
  ASSERT_TRUE(lookout);
  FakeClock clock;
  const Snapshot first = looked(*lookout, clock);
  clock.advance(std::chrono::seconds(7));
  const Snapshot second = looked(*lookout, clock);
  EXPECT_EQ(first.devices.size(), second.devices.size());
  EXPECT_NE(first.devices, second.devices);
}

TEST(Lookout, UnknownScenarioIsAnError) {
  Sources sources;
  sources.simulated = "no-such-server";
  EXPECT_FALSE(Lookout::start(sources));
}

TEST(Lookout, OneProcessServesManyLooks) {
  auto lookout = Lookout::start(without_driver());
  ASSERT_TRUE(lookout);
  SystemClock clock;
  const Snapshot first = looked(*lookout, clock);
  const auto before = lookout->descriptor();
  const Snapshot second = looked(*lookout, clock);
  EXPECT_EQ(before, lookout->descriptor());
  ASSERT_FALSE(first.problems.empty());
  EXPECT_EQ(first.problems, second.problems);
  EXPECT_LE(first.taken, second.taken);
  EXPECT_TRUE(second.host.name.get());
}

TEST(Lookout, SaysThatNotEverythingCouldBeTold) {
  const TemporaryDirectory root;
  const std::string command = root / "command";
  ASSERT_TRUE(write_file_atomically(command, std::string(3 << 20, 'x')));
  std::vector<Claim> claims;
  for (pid_t pid = 100; pid < 130; ++pid) {
    const std::string folder = root / std::to_string(pid);
    ASSERT_TRUE(make_directories(folder));
    ASSERT_TRUE(write_file_atomically(
        folder + "/stat",
        std::to_string(pid) + " (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 9 9\n"));
    ASSERT_TRUE(write_file_atomically(folder + "/status", "Name:\tx\nUid:\t0\t0\t0\t0\n"));
    ASSERT_EQ(::symlink(command.c_str(), (folder + "/cmdline").c_str()), 0);
    claims.push_back({.job = ProcessId{.pid = pid}});
  }
  Sources sources = without_driver();
  sources.proc = root.path();
  auto lookout = Lookout::start(
      sources, {.patience = {.whole = std::chrono::minutes(9), .stall = std::chrono::minutes(9)}});
  ASSERT_TRUE(lookout);
  SystemClock clock;
  const Snapshot seen = looked(*lookout, clock, claims);
  EXPECT_LT(seen.processes.back().command.get().value_or(std::vector<std::string>{}).size(), 1U);
  EXPECT_THAT(seen.problems, Contains(testing::Field(&Problem::code, "too_much")));
}

TEST(Lookout, BeginningALookDoesNotWaitForIt) {
  auto lookout = Lookout::start(without_driver());
  ASSERT_TRUE(lookout);
  SystemClock clock;
  lookout->begin(Depth::everything, {}, clock);
  EXPECT_TRUE(lookout->is_looking());
  EXPECT_TRUE(lookout->descriptor());
}

TEST(ProcessFiles, NamesOfTheEnvironmentAreReadWithoutTheirValues) {
  SystemClock clock;
  auto look = ProcessFilesLook::start(own_process_id(), clock);
  ASSERT_TRUE(look);
  std::optional<ProcessFiles> read;
  while (!(read = look->advance(clock))) {
    static_cast<void>(wait_readable({look->descriptor()}, milliseconds(50)));
  }
  ASSERT_TRUE(read->environment_names.get());
  EXPECT_THAT(*read->environment_names.get(), Contains("PATH"));
  for (const std::string& name : *read->environment_names.get()) {
    EXPECT_THAT(name, Not(HasSubstr("=")));
  }
  EXPECT_THAT(*read->device_files.get(), IsEmpty());
}

TEST(ProcessFiles, OfALaterProcessWithTheSameNumberAreNotTold) {
  ProcessId earlier = own_process_id();
  earlier.start_ticks -= 1;
  const ProcessFiles read = read_process_files(earlier, "/proc");
  EXPECT_FALSE(read.environment_names.get());
  EXPECT_FALSE(read.device_files.get());
}

}  // namespace
}  // namespace berth
