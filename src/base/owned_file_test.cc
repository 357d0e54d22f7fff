#include "base/owned_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/process.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr uid_t alice = 54321;
constexpr uid_t bob = 54322;

/// A folder of alice's where root runs the tests, who can be several; else of our own.
class OwnedFiles : public testing::Test {
 protected:
  OwnedFiles() {
    EXPECT_EQ(::chmod(made_.path().c_str(), 0755), 0);
    EXPECT_TRUE(make_directories(folder_));
    give(folder_, owner_.uid);
    put(folder_ + "/hers", "hers", owner_.uid);
  }
  static void give(const std::string& path, uid_t uid) {
    if (::geteuid() != 0) return;
    EXPECT_EQ(::lchown(path.c_str(), uid, uid), 0);
  }
  static void put(const std::string& path, const std::string& text, uid_t uid, mode_t mode = 0600) {
    ASSERT_TRUE(write_file_atomically(path, text, mode));
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    give(path, uid);
  }
  void link(const std::string& to, const std::string& name) const {
    ASSERT_EQ(::symlink(to.c_str(), (folder_ + "/" + name).c_str()), 0);
    give(folder_ + "/" + name, owner_.uid);
  }
  /// What it reads, or why it does not.
  [[nodiscard]] std::string read(const std::string& path) const {
    const auto text = read_file_of(owner_, folder_, path, 1 << 16);
    return text ? *text : "refused: " + text.error().message();
  }

  const bool is_root_ = ::geteuid() == 0;
  const FileOwner owner_ = is_root_ ? FileOwner{.uid = alice} : FileOwner::ourselves();
  TemporaryDirectory made_;
  std::string folder_ = made_ / "folder";
};

TEST_F(OwnedFiles, AreReadWithinTheirFolderAndByTheirPath) {
  EXPECT_EQ(read("hers"), "hers");
  EXPECT_EQ(read(folder_ + "/hers"), "hers");
  put(made_ / "elsewhere", "also hers", owner_.uid);
  link(made_ / "elsewhere", "link");
  EXPECT_EQ(read(folder_ + "/link"), "also hers") << "a log may lie behind a link";
  EXPECT_THAT(read("link"), HasSubstr("is no regular file")) << "a file of the record may not";
  EXPECT_THAT(read("gone"), HasSubstr("No such file"));
}

TEST_F(OwnedFiles, ThatTheKernelMakesUpAreNone) {
  for (const char* path :
       {"/proc/self/maps", "/proc/thread-self/maps", "/proc/self/status", "/sys/kernel/notes",
        "/proc/self/fd/0", "/dev/zero", "/dev/null", "/dev/tty", "/proc"}) {
    EXPECT_THAT(read(path), HasSubstr("refused")) << path;
  }
  link("/proc/self", "self");
  EXPECT_THAT(read(folder_ + "/self/maps"), HasSubstr("made by the kernel"));
  link("/proc/self/maps", "log");
  EXPECT_THAT(read(folder_ + "/log"), HasSubstr("made by the kernel"));
}

TEST_F(OwnedFiles, ThatSomebodyWouldWaitForAreNoneAndNobodyIsWoken) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  give(fifo, owner_.uid);
  EXPECT_THAT(read("fifo"), HasSubstr("is no regular file"));
  EXPECT_THAT(read(fifo), HasSubstr("is no regular file"));
  EXPECT_FALSE(open_file_of(owner_, folder_, "fifo"));
}

TEST_F(OwnedFiles, MayBeLongerThanIsReadOfThem) {
  ASSERT_EQ(::truncate((folder_ + "/hers").c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(read("hers"), HasSubstr("is larger than"));
}

TEST_F(OwnedFiles, OfAnothersAreRefusedWhoeverMayReadThem) {
  if (!is_root_) GTEST_SKIP() << "only root can be several users";
  put(made_ / "shadow", "root's alone", 0, 0600);
  put(made_ / "public", "anybody's to read", bob, 0644);
  EXPECT_THAT(read(made_ / "shadow"), HasSubstr("is not a file of user 54321's"));
  EXPECT_THAT(read(made_ / "public"), HasSubstr("is not a file of user 54321's"));
  link(made_ / "shadow", "log");
  EXPECT_THAT(read(folder_ + "/log"), HasSubstr("is not a file of user"));
  ASSERT_EQ(::link((made_ / "public").c_str(), (folder_ + "/hard").c_str()), 0);
  EXPECT_THAT(read("hard"), HasSubstr("is not a file of user"));
  ASSERT_TRUE(make_directories(made_ / "closed", 0700));
  put(made_ / "closed/hers too", "behind a door", alice, 0644);
  link(made_ / "closed", "door");
  EXPECT_THAT(read(folder_ + "/door/hers too"), HasSubstr("Permission denied"));
}

TEST_F(OwnedFiles, OfAFolderThatHasBecomeAnothersAreNone) {
  if (!is_root_) GTEST_SKIP() << "only root can be several users";
  give(folder_, bob);
  EXPECT_THAT(read("hers"), HasSubstr("is another user's by now"));
  give(folder_, alice);
  ASSERT_EQ(::rename(folder_.c_str(), (made_ / "away").c_str()), 0);
  ASSERT_EQ(::symlink("away", folder_.c_str()), 0);
  EXPECT_THAT(read("hers"), HasSubstr("refused"));
}

TEST_F(OwnedFiles, AreReachedInAFolderOfOursThatIsClosedToTheirOwner) {
  ASSERT_EQ(::chmod(made_.path().c_str(), 0700), 0);
  EXPECT_EQ(read("hers"), "hers");
}

TEST_F(OwnedFiles, LeaveOurOwnRightsAsTheyWere) {
  if (!is_root_) GTEST_SKIP() << "only root has rights to lend";
  put(made_ / "ours", "ours", 0, 0600);
  const auto child = fork_process([&] {
    if (!die_with_parent(::getppid())) return 1;
    if (read("hers") != "hers") return 2;
    int signal = 0;  // the kernel forgets it where rights change
    if (::prctl(PR_GET_PDEATHSIG, &signal) != 0 || signal != SIGKILL) return 7;
    if (!read_file(made_ / "ours")) return 3;
    {
      const OwnersRights rights(owner_);
      if (read_file(made_ / "ours")) return 4;
      const OwnersRights within(FileOwner{.uid = 0});  // gives nothing back meanwhile
      if (read_file(made_ / "ours")) return 5;
    }
    return read_file(made_ / "ours") ? 0 : 6;
  });
  ASSERT_TRUE(child);
  EXPECT_EQ(reap(*child).value(), Exit{});
}

TEST(BecomeUser, GivesUpAllRightsForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another";
  const auto child = fork_process([] {
    const uid_t before = ::geteuid();
    if (!become_user({.uid = alice}, std::nullopt)) return 1;
    const bool is_alice = ::getuid() == alice && ::geteuid() == alice;
    const bool has_no_groups = ::getegid() == FileOwner::nobodys && ::getgroups(0, nullptr) == 0;
    return is_alice && has_no_groups && ::setresuid(before, before, before) != 0 ? 0 : 2;
  });
  ASSERT_TRUE(child);
  const auto end = reap(*child);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, Exit{}) << "code " << end->code;
}

}  // namespace
}  // namespace berth
