// The subject is what happens to real processes that hang or die, so these tests fork. They wait
// for the stall, a few hundredths of a second.

#include "probe/collector.h"

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

Sources without_driver() {
  Sources sources;
  sources.nvml_library = "/nonexistent/libnvidia-ml.so.1";
  return sources;
}

TEST(Collector, SimulatedServerMovesFromLookToLook) {
  Sources sources;
  sources.simulated = "server-8xh100";
  auto collector = Collector::start(sources);
  ASSERT_TRUE(collector);
  FakeClock clock;
  const Snapshot first = collector->collect({}, clock);
  clock.advance(std::chrono::seconds(7));
  const Snapshot second = collector->collect({}, clock);
  EXPECT_EQ(first.devices.size(), second.devices.size());
  EXPECT_NE(first.devices, second.devices);
}

TEST(Collector, UnknownScenarioIsAnError) {
  Sources sources;
  sources.simulated = "no-such-server";
  EXPECT_FALSE(Collector::start(sources));
}

TEST(Collector, OneProcessServesManyLooks) {
  auto collector = Collector::start(without_driver());
  ASSERT_TRUE(collector);
  SystemClock clock;
  const Snapshot first = collector->collect({}, clock);
  const auto before = collector->probe_process();
  ASSERT_TRUE(before);
  const Snapshot second = collector->collect({}, clock);
  EXPECT_EQ(before, collector->probe_process());
  ASSERT_FALSE(first.problems.empty());
  EXPECT_EQ(first.problems, second.problems);
  EXPECT_LE(first.taken, second.taken);
  EXPECT_TRUE(second.host.name.get());
}

TEST(Collector, SaysThatNotEverythingCouldBeTold) {
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
  auto collector = Collector::start(
      sources, {.patience = {.whole = std::chrono::minutes(9), .stall = std::chrono::minutes(9)}});
  ASSERT_TRUE(collector);
  SystemClock clock;
  const Snapshot seen = collector->collect({.claims = claims}, clock);
  EXPECT_LT(seen.processes.back().command.get().value_or(std::vector<std::string>{}).size(), 1U);
  EXPECT_THAT(seen.problems, Contains(testing::Field(&Problem::code, "too_much")));
}

TEST(Collector, ThatLooksOnceKeepsNoProcess) {
  std::optional<pid_t> opened;
  {
    auto collector = Collector::start(without_driver(), {.looks = Looks::once});
    ASSERT_TRUE(collector);
    SystemClock clock;
    collector->open(clock);
    opened = collector->probe_process();
    ASSERT_TRUE(opened) << "the library is started before a look is wanted";
    EXPECT_FALSE(collector->is_looking());
    const Snapshot seen = collector->collect({}, clock);
    EXPECT_TRUE(seen.host.name.get());
    EXPECT_EQ(collector->probe_process(), std::nullopt);
  }
  const auto ended = reap(*opened);  // nothing: that was done
  EXPECT_TRUE(!ended || ended->code == 0) << "it ended by itself";
}

TEST(Collector, ThatIsNeverAskedEndsItsProcess) {
  std::optional<pid_t> opened;
  {
    auto collector = Collector::start(without_driver(), {.looks = Looks::once});
    ASSERT_TRUE(collector);
    SystemClock clock;
    collector->open(clock);
    opened = collector->probe_process();
    ASSERT_TRUE(opened);
  }
  const auto ended = reap(*opened);  // waits for it
  EXPECT_TRUE(!ended || ended->signal == SIGKILL);
}

TEST(Collector, BeginningALookDoesNotWaitForIt) {
  auto collector = Collector::start(without_driver());
  ASSERT_TRUE(collector);
  SystemClock clock;
  collector->begin({}, clock);
  EXPECT_TRUE(collector->is_looking());
  EXPECT_TRUE(collector->descriptor());
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
