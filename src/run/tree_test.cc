// The run's process tree in an invented /proc.

#include "run/tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Tree : public ::testing::Test {
 protected:
  struct Facts {
    pid_t parent = 1;
    pid_t session = 10;
    char state = 'S';
    int ticks = 0;
    int pages = 0;
    std::string io = "read_bytes: 4096\nwrite_bytes: 8192\n";
  };
  void put(pid_t pid, const Facts& facts) const {
    write(pid, "stat",
          fmt::format("{} (a b) {} {} 1 {} 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 77 1000 {} 0\n", pid,
                      facts.state, facts.parent, facts.session, facts.ticks, facts.pages));
    if (!facts.io.empty()) write(pid, "io", facts.io);
  }
  void write(pid_t pid, const std::string& file, const std::string& text) const {
    ASSERT_TRUE(make_directories(of(pid)));
    ASSERT_TRUE(write_file_atomically(of(pid) + "/" + file, text));
  }
  void end(pid_t pid) const { std::filesystem::remove_all(of(pid)); }
  [[nodiscard]] std::string of(pid_t pid) const { return proc_ + "/" + std::to_string(pid); }
  void open_file(pid_t pid, const std::string& number, const std::string& target) const {
    ASSERT_TRUE(make_directories(of(pid) + "/fd"));
    std::filesystem::create_symlink(target, of(pid) + "/fd/" + number);
  }
  TemporaryDirectory directory_;
  std::string proc_ = directory_.path();
};

constexpr pid_t keeper = 10;

TEST(DeviceOpen, IsNotKnownWhereAFilesPathIsNotTold) {
  const TemporaryDirectory proc;
  const auto is_open = [&] { return device_open_in(7, {"/dev/nvidia"}, proc.path()); };
  EXPECT_EQ(is_open().get(), false) << "the process has ended";
  ASSERT_TRUE(make_directories(proc / "7/fd"));
  std::filesystem::create_symlink("/home/a", proc / "7/fd/3");
  EXPECT_EQ(is_open().get(), false);
  ASSERT_TRUE(write_file_atomically(proc / "7/fd/4", "no link"));
  EXPECT_EQ(is_open().why(), Absent::failed);
  EXPECT_TRUE(has_device_open(7, {"/dev/nvidia"}, proc.path())) << "in doubt it has";
  std::filesystem::create_symlink("/dev/nvidia0", proc / "7/fd/5");
  EXPECT_EQ(is_open().get(), true);
}

TEST_F(Tree, IsTheKeepersDescendantsLessItsSamplerAndZombies) {
  put(keeper, {});
  put(11, {.parent = keeper, .session = 5});
  put(12, {.parent = 11, .session = 5});
  put(13, {.parent = 12, .session = 99});  // daemonised
  put(14, {.parent = 11, .session = 5, .state = 'Z'});
  put(15, {.parent = keeper, .session = keeper});  // the sampler
  put(16, {.parent = 15, .session = keeper});
  put(17, {.parent = 1, .session = 5});  // a stranger
  std::vector<pid_t> pids;
  for (const ProcessId& one : run_processes(keeper, proc_)) pids.push_back(one.pid);
  EXPECT_THAT(pids, UnorderedElementsAre(11, 12, 13));
  EXPECT_THAT(run_processes(keeper, proc_ + "/none"), IsEmpty());
}

TEST_F(Tree, AChildThatIsYetToBeReapedMayHaveLeftOneThatNoSearchHasSeen) {
  put(keeper, {});
  put(11, {.parent = keeper, .session = 5, .state = 'Z'});
  put(15, {.parent = keeper, .session = keeper});  // the sampler
  EXPECT_THAT(run_processes(keeper, proc_), IsEmpty());
  EXPECT_TRUE(may_have_run_processes(keeper, proc_));
  end(11);
  EXPECT_FALSE(may_have_run_processes(keeper, proc_));
}

TEST_F(Tree, AskedForChildrenTheKernelsOwnListIsBelieved) {
  put(keeper, {});
  put(12, {.parent = keeper, .session = keeper});
  put(15, {.parent = keeper, .session = 4});  // the sampler of a keeper that was killed
  ASSERT_TRUE(make_directories(of(keeper) + "/task/10"));
  write(keeper, "task/10/children", "12 15 ");
  EXPECT_TRUE(may_have_run_processes(keeper, proc_));
  EXPECT_FALSE(may_have_run_processes(keeper, proc_, {{.pid = 15, .start_ticks = 77}}));
  write(keeper, "task/10/children", "12 13 ");
  EXPECT_TRUE(may_have_run_processes(keeper, proc_)) << "of 13 nothing may be read (hidepid)";
}

TEST_F(Tree, WatchCountsThoseThatEndedToo) {
  put(keeper, {});
  put(11, {.parent = keeper, .session = 5, .ticks = 100, .pages = 2});
  put(17, {.parent = 1, .session = 5, .ticks = 1000});
  TreeWatch watch(keeper, proc_);
  const auto first = watch.look();
  EXPECT_THAT(first.pids, ElementsAre(11));
  const std::int64_t second = ::sysconf(_SC_CLK_TCK);
  EXPECT_EQ(first.cpu.count(), 100 * 1000 / second);
  EXPECT_EQ(first.memory_resident, Bytes(2 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))));
  EXPECT_EQ(first.read, Reading<Bytes>(Bytes(4096)));

  put(12, {.parent = 11, .session = 5, .ticks = 50});
  EXPECT_THAT(watch.look().pids, ElementsAre(11, 12));
  end(11);
  put(12, {.parent = keeper, .session = 5, .ticks = 60});
  const auto last = watch.look();
  EXPECT_THAT(last.pids, ElementsAre(12));
  EXPECT_EQ(last.cpu.count(), 160 * 1000 / second);
  EXPECT_EQ(last.read, Reading<Bytes>(Bytes(8192)));
  EXPECT_EQ(last.written, Reading<Bytes>(Bytes(16384)));
  EXPECT_EQ(watch.look().written, Reading<Bytes>(Bytes(16384))) << "counted once";
}

TEST_F(Tree, WatchOfAProcessCountsItTooWhateverItsSession) {
  put(11, {.parent = 1, .session = 11, .ticks = 100});
  put(12, {.parent = 11, .session = 11});
  put(13, {.parent = 12, .session = 13});
  put(14, {.parent = 1, .session = 11});
  TreeWatch watch = TreeWatch::of(11, proc_);
  EXPECT_THAT(watch.look().pids, ElementsAre(11, 12, 13));
  end(11);
  put(12, {.parent = 1, .session = 11});
  EXPECT_THAT(watch.look().pids, ElementsAre(12, 13)) << "they are seen to the end";
}

TEST_F(Tree, WatchFindsAGrandchildWhoseNumberIsLowerThanItsParents) {
  put(300, {.parent = keeper, .session = 5});
  put(20, {.parent = 300, .session = 5});
  EXPECT_THAT(TreeWatch(keeper, proc_).look().pids, ElementsAre(20, 300));
}

TEST_F(Tree, WatchFollowsTheKernelsListsOfChildrenUntilTheJobIsLarge) {
  put(keeper, {});
  put(11, {.parent = keeper, .session = 5});
  put(12, {.parent = 11, .session = 6});
  put(15, {.parent = keeper, .session = keeper});  // the sampler
  put(17, {.parent = keeper, .session = 5});       // everybody read, it would count
  const auto list = [this](pid_t parent, const std::string& thread, const std::string& children) {
    ASSERT_TRUE(make_directories(of(parent) + "/task/" + thread));
    write(parent, "task/" + thread + "/children", children);
  };
  list(keeper, "10", "11 15 ");
  list(11, "11", "");
  list(11, "111", "12 ");  // a thread's child
  list(12, "12", "");
  TreeWatch watch(keeper, proc_);
  EXPECT_THAT(watch.look().pids, ElementsAre(11, 12));
  put(13, {.parent = 12, .session = 6});
  list(12, "12", "13 14 ");  // 14 has ended
  EXPECT_THAT(watch.look().pids, ElementsAre(11, 12, 13));
  for (int thread = 1000; thread < 1100; ++thread) list(13, std::to_string(thread), "");
  EXPECT_THAT(watch.look().pids, ElementsAre(11, 12, 13, 17));
}

TEST_F(Tree, WatchSaysNothingOfStorageItMayNotRead) {
  put(11, {.parent = keeper, .session = 5, .io = ""});
  EXPECT_EQ(TreeWatch(keeper, proc_).look().read, Reading<Bytes>(Absent::no_permission));
}

TEST_F(Tree, DeviceFileIsFoundAmongOpenFiles) {
  const std::vector<std::string> gpus = {"/dev/nvidia", "/dev/kfd"};
  open_file(11, "0", "/dev/null");
  open_file(11, "3", "socket:[5]");
  EXPECT_FALSE(has_device_open(11, gpus, proc_));
  open_file(11, "4", "/dev/nvidia0");
  EXPECT_TRUE(has_device_open(11, gpus, proc_));
  EXPECT_FALSE(has_device_open(99, gpus, proc_)) << "it has gone";
}

TEST_F(Tree, OpenFilesThatCannotBeReadCountAsOpen) {
  put(11, {});
  std::filesystem::create_symlink("fd", of(11) + "/fd");  // ELOOP for everybody, root included
  EXPECT_TRUE(has_device_open(11, {"/dev/nvidia"}, proc_));
  ASSERT_TRUE(make_directories(of(12) + "/fd"));
  ASSERT_TRUE(write_file_atomically(of(12) + "/fd/3", "no link"));
  EXPECT_TRUE(has_device_open(12, {"/dev/nvidia"}, proc_));
}

TEST_F(Tree, SurvivorsAreFoundByTheRunsNameInTheirEnvironment) {
  using namespace std::string_literals;
  put(11, {});
  write(11, "environ", "A=1\0BERTH_RUN=r1\0B=2\0"s);
  put(12, {});
  write(12, "environ", "BERTH_RUN=r12\0XBERTH_RUN=r1\0"s);
  put(13, {});
  write(13, "environ", "BERTH_RUN=r1\0"s);
  EXPECT_THAT(processes_named_for("r1", 13, proc_), ElementsAre(ProcessId{11, 77}));
}

}  // namespace
}  // namespace berth
