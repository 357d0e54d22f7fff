#include "base/fd.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/lock.h"
#include "base/process.h"
#include "base/temporary_directory.h"

static std::atomic<int> signals_to_threads = 0;

/// In libc's place: counts them.
extern "C" int pthread_kill(pthread_t thread, int signal) noexcept {
  ++signals_to_threads;
  static const auto real =
      reinterpret_cast<int (*)(pthread_t, int)>(::dlsym(RTLD_NEXT, "pthread_kill"));
  return real(thread, signal);
}

namespace berth {
namespace {

class Files : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] Fd open_directory() const { return *open_fd(directory_, O_RDONLY | O_DIRECTORY); }
  [[nodiscard]] Fd open_file() const { return *open_fd(path("f"), O_RDWR | O_CREAT, 0600); }

  TemporaryDirectory made_;
  std::string directory_ = made_.path();
};

TEST_F(Files, AtomicWriteIsReadBackAndLeavesNothingElse) {
  ASSERT_TRUE(write_file_atomically(path("f"), "one"));
  ASSERT_TRUE(write_file_atomically(path("f"), "two"));
  EXPECT_EQ(read_file(path("f")).value(), "two");
  EXPECT_THAT(list_directory(directory_).value(), ::testing::ElementsAre("f"));
}
TEST_F(Files, FileAndFolderAndWhatALinkLeadsToAreThere) {
  ASSERT_TRUE(write_file_atomically(path("f"), ""));
  ASSERT_EQ(::symlink("f", path("to a file").c_str()), 0);
  ASSERT_EQ(::symlink("gone", path("to nothing").c_str()), 0);
  EXPECT_TRUE(is_there(path("f")));
  EXPECT_TRUE(is_there(directory_));
  EXPECT_TRUE(is_there(path("to a file")));
  EXPECT_FALSE(is_there(path("to nothing")));
  EXPECT_FALSE(is_there(path("gone")));
  EXPECT_FALSE(is_there(path("f/below a file")));
  EXPECT_FALSE(is_there(""));
}

TEST_F(Files, FailedWriteKeepsTheOldFileAndLeavesNoOther) {
  ASSERT_TRUE(write_file_atomically(path("f"), "old"));
  const auto child = fork_process([&] {
    // As a full disk would: nothing longer than four bytes can be written.
    const rlimit four{.rlim_cur = 4, .rlim_max = 4};
    ::setrlimit(RLIMIT_FSIZE, &four);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto written = write_file_atomically(path("f"), "longer than four bytes");
    return !written && written.error().message().find(path("f")) != std::string::npos ? 0 : 1;
  });
  ASSERT_TRUE(child);
  EXPECT_EQ(reap(*child).value(), Exit{}) << "the error names the file";
  EXPECT_EQ(read_file(path("f")).value(), "old");
  EXPECT_THAT(list_directory(directory_).value(), ::testing::ElementsAre("f"));
}
TEST_F(Files, WhatCannotBeReplacedLeavesNoOtherFile) {
  ASSERT_TRUE(make_directories(path("d")));
  EXPECT_FALSE(write_file_atomically(path("d"), "x"));
  EXPECT_FALSE(write_file_atomically(path("missing/f"), "x"));
  EXPECT_THAT(list_directory(directory_).value(), ::testing::ElementsAre("d"));
}
TEST_F(Files, DirectoriesAreMadeWithTheirParentsOnceAndAgain) {
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(make_directories(path("a/b//c/")));
    EXPECT_TRUE(std::filesystem::is_directory(path("a/b/c")));
  }
  ASSERT_TRUE(make_directories(path("a/private"), 0700));
  struct stat facts{};
  ASSERT_EQ(::stat(path("a/private").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
}
TEST_F(Files, DirectoryCannotStandWhereAFileIs) {
  ASSERT_TRUE(write_file_atomically(path("f"), "x"));
  EXPECT_FALSE(make_directories(path("f")));
  EXPECT_FALSE(make_directories(path("f/below")));
  ASSERT_EQ(::symlink("nowhere", path("dangling").c_str()), 0);
  EXPECT_FALSE(make_directories(path("dangling")));
}
TEST_F(Files, LargerThanExpectedIsRefused) {
  ASSERT_TRUE(write_file_atomically(path("f"), std::string(100, 'x')));
  EXPECT_EQ(read_file(path("f"), 99).error().code(), ErrorCode::invalid);
}
TEST_F(Files, UntrustedLinksAndPipesAreRefusedWithoutWaiting) {
  const Fd directory = open_directory();
  ASSERT_TRUE(write_file_atomically(path("f"), "x"));
  EXPECT_EQ(read_untrusted_file(directory.get(), "f").value(), "x");
  ASSERT_EQ(::symlink("f", path("soft").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_untrusted_file(directory.get(), "soft"));
  EXPECT_FALSE(read_untrusted_file(directory.get(), "pipe"));
  EXPECT_FALSE(read_untrusted_file(directory.get(), "."));
  ASSERT_EQ(::link(path("f").c_str(), path("hard").c_str()), 0);
  EXPECT_FALSE(read_untrusted_file(directory.get(), "f"));
}
TEST_F(Files, OfdLockIsSeenByOthersAndOutlivesItsTakerInAChild) {
  Fd owner = open_file();
  const Fd other = open_file();
  ASSERT_TRUE(take_ofd_lock(owner.get()));
  EXPECT_TRUE(is_ofd_locked(other.get()).value());
  EXPECT_FALSE(is_ofd_locked(owner.get()).value());  // its own lock is no conflict
  EXPECT_EQ(take_ofd_lock(other.get()).error().code(), ErrorCode::busy);

  int gate[2];
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  Fd reader(gate[0]);
  Fd writer(gate[1]);
  const auto child = fork_process([&] {
    writer.close();
    char byte = 0;
    return static_cast<int>(::read(reader.get(), &byte, 1));
  });
  ASSERT_TRUE(child);
  owner.close();
  EXPECT_TRUE(is_ofd_locked(other.get()).value());
  writer.close();
  EXPECT_EQ(reap(*child).value(), Exit{});
  EXPECT_FALSE(is_ofd_locked(other.get()).value());
}
TEST_F(Files, FlockGivesUpAtItsDeadline) {
  const Fd owner = open_file();
  const Fd other = open_file();
  FakeClock clock;
  ASSERT_TRUE(take_flock(owner.get(), clock, clock.now()));
  const Instant deadline = clock.now() + std::chrono::seconds(1);
  EXPECT_EQ(take_flock(other.get(), clock, deadline).error().code(), ErrorCode::timeout);
  EXPECT_EQ(clock.now(), deadline);
}
TEST_F(Files, WhoIsHandedTheFlockIsNotCalledOutOfTheLine) {
  // On one processor the woken process often runs before the one that woke it goes on.
  cpu_set_t before{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one{};
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  SystemClock clock;
  signals_to_threads = 0;
  for (int round = 0; round < 200; ++round) {
    Fd owner = open_file();
    const Fd other = open_file();
    ASSERT_TRUE(take_flock(owner.get(), clock, clock.now()));
    std::jthread leaves([&] {
      clock.wait_until(clock.now() + std::chrono::microseconds(500));
      owner.close();
    });
    ASSERT_TRUE(take_flock(other.get(), clock, Instant::max()));
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  // One that asks at the very moment may send one.
  EXPECT_LT(signals_to_threads, 20);
}

TEST(Process, EndIsReportedAsAShellWould) {
  const auto child = fork_process([] { return 7; });
  ASSERT_TRUE(child);
  const auto end = reap(*child);
  ASSERT_TRUE(end);
  EXPECT_EQ(shell_exit_code(*end), 7);
  EXPECT_EQ(shell_exit_code(Exit{.code = 0, .signal = 9}), 137);
}
TEST(Process, SignalForAnEarlierProcessOfThatPidIsNotSent) {
  ProcessId earlier = own_process_id();
  ASSERT_NE(earlier.start_ticks, 0U);
  earlier.start_ticks -= 1;
  EXPECT_EQ(send_signal(earlier, 9).error().code(), ErrorCode::not_found);
}
TEST(Process, OwnProgramIsTheOneThatStandsThereNow) {
  EXPECT_EQ(own_program(), std::filesystem::read_symlink("/proc/self/exe").string());
  const TemporaryDirectory folder;
  const std::string link = folder / "link";
  ASSERT_EQ(::symlink((folder / "berth (deleted)").c_str(), link.c_str()), 0);
  EXPECT_EQ(own_program(link), std::nullopt);
  std::ofstream(folder / "berth");
  EXPECT_EQ(own_program(link), folder / "berth");
  std::ofstream(folder / "berth (deleted)");
  EXPECT_EQ(own_program(link), folder / "berth (deleted)") << "a name like any other";
}
TEST(Process, SearchPathIsTheEnvironmentsOrTheUsualOne) {
  EXPECT_EQ(search_path_in({"A=1", "PATH=/x"}), "/x");
  EXPECT_EQ(search_path_in({"A=1"}), default_search_path);
}
TEST(Process, CommandThatDoesNotExistIsNotFound) {
  EXPECT_EQ(find_executable("no-such-command", "/bin:/usr/bin").error().code(),
            ErrorCode::not_found);
  EXPECT_EQ(find_executable("/", "").error().code(), ErrorCode::no_permission);
  EXPECT_TRUE(find_executable("sh", "/nowhere:/bin"));
}

}  // namespace
}  // namespace berth
