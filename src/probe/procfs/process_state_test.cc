#include "probe/procfs/process_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A /proc of a few processes, as the kernel writes it.
class ProcessState : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void process(int pid, const std::string& name, char state) const {
    put(std::to_string(pid) + "/stat",
        std::to_string(pid) + " (" + name + ") " + state +
            " 1 1 77 0 -1 0 11 0 42 0 5 0 0 0 20 0 2 0 500 0 10 0\n");
  }
  void open(int pid, int fd, const std::string& target) const {
    const std::filesystem::path path = folder_ / (std::to_string(pid) + "/fd");
    std::filesystem::create_directories(path);
    std::filesystem::create_symlink(target, path / std::to_string(fd));
  }
  static ProcessId id(int pid) { return {.pid = pid, .start_ticks = 500}; }

  TemporaryDirectory folder_;
  std::string proc_ = folder_.path();
};

TEST_F(ProcessState, IsWhatItWaitsIn) {
  process(7, "python3", 'S');
  put("7/wchan", "futex_do_wait");
  const auto found = kernel_state_of(id(7), proc_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, 'S');
  EXPECT_EQ(found->waits_in, "futex_do_wait");
}

TEST_F(ProcessState, WaitsInNothingThatTheKernelDoesNotSay) {
  process(7, "python3", 'R');
  put("7/wchan", "0");
  EXPECT_EQ(kernel_state_of(id(7), proc_)->waits_in, "");
  process(8, "python3", 'D');
  EXPECT_EQ(kernel_state_of(id(8), proc_)->waits_in, "");
}

TEST_F(ProcessState, OfAnotherWithItsNumberIsNone) {
  process(7, "python3", 'S');
  EXPECT_EQ(kernel_state_of({.pid = 7, .start_ticks = 499}, proc_), std::nullopt);
  EXPECT_EQ(kernel_state_of(id(9), proc_), std::nullopt);
}

TEST_F(ProcessState, HasAStackOfALineEachWhereItMayBeRead) {
  put("7/stack", "[<0>] futex_wait+0x1\n[<0>] do_futex+0x2\n");
  EXPECT_THAT(kernel_stack_of(7, proc_), ElementsAre("[<0>] futex_wait+0x1", "[<0>] do_futex+0x2"));
  EXPECT_THAT(kernel_stack_of(8, proc_), IsEmpty());
}

TEST_F(ProcessState, IsConnectedWhereOneOfItsProcessesHasASocketAtThePort) {
  const std::string head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n";
  const std::string connected =  // to port 29500 (733C), with inode 4711
      "   1: 0100007F:B1C6 0100007F:733C 01 00000000:00000000 00:00000000 00000000  1000        0 "
      "4711 1 0000000000000000 20 4 30 10 -1\n";
  open(8, 3, "/dev/null");
  open(8, 4, "socket:[4711]");
  open(9, 3, "socket:[4712]");
  EXPECT_EQ(has_socket_at({id(7), id(8)}, 29500, proc_), std::nullopt) << "no table can be read";
  put("7/net/tcp6", head);
  EXPECT_EQ(has_socket_at({id(7), id(8)}, 29500, proc_), false);
  put("7/net/tcp", head + connected);
  EXPECT_EQ(has_socket_at({id(7), id(8)}, 29500, proc_), true);
  EXPECT_EQ(has_socket_at({id(7), id(9)}, 29500, proc_), false);
  EXPECT_EQ(has_socket_at({id(7), id(8)}, 29501, proc_), false);
  EXPECT_EQ(has_socket_at({}, 29500, proc_), std::nullopt);
}

TEST_F(ProcessState, PrintsItsStackAsAPythonThatWasToldTo) {
  const auto with = [&](const char* name, const std::string& environment) {
    process(7, name, 'S');
    put("7/environ", environment);
    return has_faulthandler(7, proc_);
  };
  using namespace std::string_literals;
  EXPECT_TRUE(with("python3.11", "HOME=/root\0PYTHONFAULTHANDLER=1\0"s));
  EXPECT_FALSE(with("python3.11", "PYTHONFAULTHANDLER=\0HOME=/root\0"s));
  EXPECT_FALSE(with("python3.11", "XPYTHONFAULTHANDLER=1\0"s));
  EXPECT_FALSE(with("bash", "PYTHONFAULTHANDLER=1\0"s));
  EXPECT_FALSE(has_faulthandler(8, proc_));
}

}  // namespace
}  // namespace berth
