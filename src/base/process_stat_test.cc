#include "base/process_stat.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using namespace std::string_literals;

const std::string after_comm =
    " S 21850 21871 21790 34816 21871 4194304 99 0 1 0 1500 250 0 0 20 0 64 0 8800000 999 4500 "
    "18446744073709551615 0 0\n";

TEST(ProcessStat, ReadsWhatIsAskedOfIt) {
  const auto stat = parse_process_stat("21871 (python)" + after_comm);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->id, (ProcessId{.pid = 21871, .start_ticks = 8'800'000}));
  EXPECT_EQ(stat->comm, "python");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 21850);
  EXPECT_EQ(stat->session, 21790);
  EXPECT_TRUE(stat->has_terminal);
  EXPECT_FALSE(parse_process_stat("7 (a) S 1 7 7 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 9 1000 12 0\n")
                   ->has_terminal);
  EXPECT_EQ(stat->cpu_ticks, 1750U);
  EXPECT_EQ(stat->resident_pages, 4500U);
  EXPECT_EQ(stat->stack_begin, std::nullopt) << "of another user's the kernel tells 0";
}

TEST(ProcessStat, CommandMayHoldParenthesesSpacesAndLineBreaks) {
  const auto stat = parse_process_stat("7 (a) R 1 (\n) Z)" + after_comm);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "a) R 1 (\n) Z");
  EXPECT_EQ(stat->parent, 21850);
}

TEST(ProcessStat, RefusesWhatIsNoSuchLine) {
  for (const std::string& text :
       {""s, ")("s, "1 (x)"s, "1 (x) "s, "1 (x) S"s, "1 (x) S 1 2 3"s, "1 x S 1"s, "42 (cut"s,
        "7 (x) SS" + after_comm.substr(2), "(x)" + after_comm, std::string(1 << 20, '('),
        std::string(1 << 20, ')'), "1 (x" + std::string(1 << 20, ' ')}) {
    EXPECT_FALSE(parse_process_stat(text)) << text.substr(0, 80);
  }
}

TEST(ProcessStat, RefusesNumbersThatNoProcessHas) {
  const std::string rest = " 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 999 1000 12 0\n";
  EXPECT_TRUE(parse_process_stat("42 (a) S 7 42 41" + rest));
  for (const char* start : {"99999999999 (a) S 7 42 41", "42 (a) S 99999999999 42 41",
                            "42 (a) S -1 42 41", "42 (a) S 7 42 99999999999"}) {
    EXPECT_FALSE(parse_process_stat(start + rest)) << start;
  }
}

TEST(Lives, AZombieAndALaterProcessOfThatNumberDoNot) {
  EXPECT_TRUE(lives(own_process_id()));
  EXPECT_FALSE(lives({.pid = own_process_id().pid, .start_ticks = 1}));
  const auto child = fork_process([] { return 0; });
  ASSERT_TRUE(child);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(*child), &ended, WEXITED | WNOWAIT), 0);
  const auto zombie = identify_process(*child);
  ASSERT_TRUE(zombie) << "it is there";
  EXPECT_FALSE(lives(*zombie));
  EXPECT_TRUE(reap(*child));
}

TEST(PidsIn, AreTheNumbersThatAProcessCanHave) {
  const TemporaryDirectory proc;
  for (const char* name : {"10", "9", "self", "99999999999", "7x"}) {
    ASSERT_TRUE(make_directories(proc / name));
  }
  EXPECT_EQ(pids_in(proc.path()).value(), (std::vector<pid_t>{9, 10}));
  EXPECT_TRUE(hides_others({9, 10}, proc.path()));
  EXPECT_FALSE(hides_others({1, 9}, proc.path()));
  EXPECT_FALSE(hides_others({9}, proc / "9")) << "no /proc";
  EXPECT_FALSE(pids_in(proc / "none"));
}

TEST(OpenFiles, AreWhatTheDescriptorsPointAt) {
  const TemporaryDirectory folder;
  std::filesystem::create_symlink("/dev/nvidia0", folder / "10");
  std::filesystem::create_symlink("pipe:[7]", folder / "2");
  std::vector<std::string> seen;
  for (const OpenFile& file : open_files_in(folder.path()).value()) {
    seen.push_back(std::to_string(file.descriptor) + " " + file.path);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"10 /dev/nvidia0", "2 pipe:[7]"}));
  EXPECT_EQ(open_files_in(folder / "none").error().code(), ErrorCode::not_found);
  ASSERT_TRUE(write_file_atomically(folder / "3", "no link"));
  EXPECT_EQ(open_files_in(folder.path())->back().path, "") << "it is there, and not known";
}

TEST(ProcMount, ShowsCommandsToEverybodyUnlessItHidesThem) {
  const std::string before = "22 27 0:20 / /sys rw,relatime shared:7 - sysfs sysfs rw\n";
  const std::string open = "25 31 0:23 / /proc rw,nosuid shared:12 - proc proc rw\n";
  EXPECT_TRUE(proc_shows_commands(before + open));
  EXPECT_TRUE(proc_shows_commands("25 31 0:23 / /proc rw - proc proc rw,hidepid=0\n"));
  for (const char* how : {"1", "2", "4", "noaccess", "invisible", "ptraceable"}) {
    const std::string hidden =
        "25 31 0:23 / /proc rw,nosuid - proc proc rw,gid=5,hidepid=" + std::string(how) + "\n";
    EXPECT_FALSE(proc_shows_commands(before + hidden)) << how;
    EXPECT_FALSE(proc_shows_commands(open + hidden)) << "it stands before what was there";
    EXPECT_TRUE(proc_shows_commands(hidden + open)) << how;
  }
  EXPECT_FALSE(proc_shows_commands(before)) << "not known is not shown";
  EXPECT_FALSE(proc_shows_commands(""));
}

}  // namespace
}  // namespace berth
