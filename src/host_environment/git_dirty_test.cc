// Whether a work tree is dirty, of real ones: what git is asked, and what it is not let run.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "host_environment/gather.h"

namespace berth {
namespace {

const std::string git_path = "/usr/local/bin:/usr/bin:/bin";

class GitDirty : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(find_executable("git", git_path)) << "git is not installed";
    put("tree/a", "one\n");
    ASSERT_TRUE(git({"init", "-q"}) && git({"add", "a"}) && git({"commit", "-q", "-m", "first"}));
  }
  [[nodiscard]] std::string at(const std::string& file) const { return root_ + "/" + file; }
  void put(const std::string& file, const std::string& text, mode_t mode = 0644) const {
    ASSERT_TRUE(make_directories(std::filesystem::path(at(file)).parent_path()));
    ASSERT_TRUE(write_file_atomically(at(file), text, mode));
  }
  bool git(std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"git", "-C", at("tree"), "-c", "user.name=t", "-c", "user.email=t"});
    return output_of(words, environment_, git_path, clock_, std::chrono::seconds(30)).has_value();
  }
  Reading<bool> dirty() { return is_git_dirty(at("tree"), environment_, clock_); }
  [[nodiscard]] bool was_run() const { return std::filesystem::exists(at("run")); }
  /// A program of the tree that says that it was run, and does `rest`.
  std::string program(const std::string& rest) {
    put("program", "#!/bin/sh\ntouch " + at("run") + "\n" + rest + "\n", 0755);
    return at("program");
  }

  TemporaryDirectory directory_;
  std::string root_ = directory_.path();
  std::vector<std::string> environment_ = {"PATH=" + git_path, "HOME=" + root_,
                                           "GIT_CONFIG_NOSYSTEM=1"};
  SystemClock clock_;
};

TEST_F(GitDirty, MonitorAndHooksOfTheTreeAreNotRun) {
  const std::string monitor = program("false");
  ASSERT_TRUE(git({"config", "core.fsmonitor", monitor}));
  put("tree/.git/hooks/post-index-change", "#!/bin/sh\ntouch " + at("run") + "\n", 0755);
  put("tree/a", "one\n");  // touched: git has to look into it
  EXPECT_EQ(dirty(), Reading<bool>(false));
  put("tree/a", "another length\n");
  EXPECT_EQ(dirty(), Reading<bool>(true));
  EXPECT_FALSE(was_run());
}

TEST_F(GitDirty, FiltersOfTheTreeAreNotRunAndWhatOnlyTheyCouldSayIsUnknown) {
  put("tree/.gitattributes", "a filter=odd.name\n");
  ASSERT_TRUE(git({"add", ".gitattributes"}) && git({"commit", "-q", "-m", "second"}));
  const std::string filter = program("cat");
  for (const std::string key : {"clean", "process", "smudge"}) {
    ASSERT_TRUE(git({"config", "filter.odd.name." + key, filter}));
  }
  ASSERT_TRUE(git({"config", "filter.odd.name.required", "true"}));
  EXPECT_EQ(dirty(), Reading<bool>(false));
  put("tree/a", "another length\n");
  EXPECT_FALSE(dirty().get()) << "its filter may make of it what is committed";
  put("tree/b", "unfiltered\n");
  ASSERT_TRUE(git({"add", "b"}));
  EXPECT_EQ(dirty(), Reading<bool>(true));
  EXPECT_FALSE(was_run());
}

TEST_F(GitDirty, FilterWhoseNameCannotBeOverriddenIsNotRun) {
  put("tree/.gitattributes", "a filter=x=y\n");
  put("tree/.git/config",
      "[core]\nrepositoryformatversion = 0\n[filter \"x=y\"]\nclean = " + program("cat") + "\n");
  put("tree/a", "another length\n");
  EXPECT_FALSE(dirty().get());
  EXPECT_FALSE(was_run());
}

TEST_F(GitDirty, GitIsAskedWithNoSignalBlocked) {
  put("bin/git",
      "#!/bin/sh\nPATH=" + git_path + "\ngrep SigBlk /proc/self/status > " + at("run") +
          "\nexit 3\n",
      0755);
  sigset_t term;
  sigset_t before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, &term, &before), 0);
  EXPECT_FALSE(is_git_dirty(at("tree"), {"PATH=" + at("bin")}, clock_).get());
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(trimmed(read_file(at("run")).value_or("git was not asked")),
            "SigBlk:\t0000000000000000");
}

TEST_F(GitDirty, WhatAGitThatHangsHasStartedIsEndedWithIt) {
  put("bin/git",
      "#!/bin/sh\nPATH=" + git_path + "\nsleep 300 &\necho $! > " + at("run") + "\nwait\n", 0755);
  EXPECT_FALSE(is_git_dirty(at("tree"), {"PATH=" + at("bin")}, clock_).get());
  const auto pid = parse_unsigned(trimmed(read_file(at("run")).value_or("")));
  ASSERT_TRUE(pid);
  bool gone = false;
  for (int i = 0; !gone && i < 200; ++i) {
    const auto stat = read_file("/proc/" + std::to_string(*pid) + "/stat", 4096);
    gone = !stat || stat->find(") Z ") != std::string::npos;
    if (!gone) clock_.wait_until(clock_.now() + std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone) << "sleep 300 is left over";
}

}  // namespace
}  // namespace berth
