#include "config/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigFiles : public ::testing::Test {
 protected:
  std::string make_folder(const std::string& name, mode_t mode = 0755) {
    const std::string path = folder_ / name;
    ::mkdir(path.c_str(), 0700);
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  static std::string refusal(const std::string& path) {
    const auto text = read_config_file(path);
    return text ? "read" : text.error().message();
  }

  TemporaryDirectory folder_;
};

TEST_F(ConfigFiles, AreReadWhereNobodyElseCanWriteThem) {
  EXPECT_EQ(read_config_file(write("a.toml", "x = 1\n")).value(), "x = 1\n");
  EXPECT_EQ(read_config_file(folder_ / "none.toml").error().code(), ErrorCode::not_found);
}

TEST_F(ConfigFiles, ThatOthersCanWriteAreRefusedWithTheReasonAndAStep) {
  const std::string group = write("group.toml", "", 0664);
  EXPECT_EQ(refusal(group),
            group + " is not read: other users can write it; run: chmod go-w " + group);
  EXPECT_THAT(refusal(write("all.toml", "", 0646)), HasSubstr("other users can write it"));
}

TEST_F(ConfigFiles, InAFolderThatOthersCanWriteAreRefused) {
  const std::string shared = make_folder("shared", 0777);
  const std::string path = write("shared/berth.toml", "[request]\n");
  EXPECT_EQ(refusal(path), path + ": " + shared + " is not read: other users can write it; run: " +
                               "chmod go-w " + shared);
  make_folder("shared", 01777);
  EXPECT_THAT(refusal(path), HasSubstr("other users can write it")) << "sticky or not";
}

TEST_F(ConfigFiles, OfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  const std::string path = write("theirs.toml", "");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(path), HasSubstr("it is another user's (uid 12345)"));
}

TEST_F(ConfigFiles, ThatAreNoFilesAreRefusedAtOnce) {
  const std::string pipe = folder_ / "pipe.toml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("is no file"));
}

TEST_F(ConfigFiles, OfTheProjectIsTheNearestAbove) {
  const std::string project = make_folder("net");
  const std::string deep = make_folder("net/data");
  EXPECT_EQ(find_project_file(project), "") << "where none is above it in this test's folder";
  const std::string path = write("net/berth.toml", "");
  EXPECT_EQ(find_project_file(project), path);
  EXPECT_EQ(find_project_file(deep), path);
  const std::string nearer = write("net/data/berth.toml", "");
  EXPECT_EQ(find_project_file(deep), nearer);
  EXPECT_EQ(find_project_file("relative"), "");
}

TEST_F(ConfigFiles, OfTheProjectIsNotLookedForInFoldersOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to somebody else";
  const std::string theirs = make_folder("theirs");
  write("theirs/berth.toml", "");
  ASSERT_EQ(::chown(theirs.c_str(), 12345, 12345), 0);
  EXPECT_EQ(find_project_file(theirs), "");
  const std::string mine = make_folder("theirs/mine");
  EXPECT_EQ(find_project_file(mine), "") << "above a folder of one's own lies another's";
}

TEST_F(ConfigFiles, OfAnotherUserAreNoProjectsFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  const std::string open = make_folder("open", 01777);
  ASSERT_EQ(::chown(write("open/berth.toml", "").c_str(), 12345, 12345), 0);
  EXPECT_EQ(find_project_file(open), "") << "else anybody could stop root's jobs below /tmp";
}

TEST_F(ConfigFiles, AreAddedInTheirOrderAndOneThatIsRefusedIsAMistake) {
  const std::string machine = write("machine.toml", "[request]\nmemory = \"1G\"\ndevices = 2\n");
  const std::string user = write("user.toml", "[request]\nmemory = \"2G\"\n", 0666);
  make_folder("net");
  const std::string project = write("net/berth.toml", "[request]\nmemory = \"3G\"\n");
  Config config;
  add_files(config, {.machine = machine, .user = user, .working_directory = folder_ / "net"});
  EXPECT_EQ(config.text("request.memory"), "3G");
  EXPECT_EQ(config.text("request.devices"), "2");
  ASSERT_EQ(config.mistakes.size(), 1U);
  EXPECT_THAT(config.mistakes.front().message(), HasSubstr(user + " is not read"));
  ASSERT_EQ(config.files.size(), 3U);
  EXPECT_EQ(config.files[2].path, project);
}

TEST_F(ConfigFiles, ThatAreNotThereAreNoMistake) {
  Config config;
  add_files(config, {.machine = folder_ / "none/config.toml", .user = "", .working_directory = ""});
  EXPECT_THAT(config.mistakes, IsEmpty());
  ASSERT_EQ(config.files.size(), 1U);
  EXPECT_FALSE(config.files.front().is_there);
}

TEST_F(ConfigFiles, OneOfAUserThatHasAProjectsNameIsToldWithTheRightOne) {
  const std::string folder = make_folder("config");
  const std::string mistaken = write("config/berth.toml", "[request]\nmemory = \"3G\"\n");
  const std::string user = folder + "/config.toml";
  Config config;
  add_files(config, {.machine = "", .user = user, .working_directory = ""});
  ASSERT_EQ(config.unknown.size(), 1U);
  EXPECT_EQ(config.unknown.front().english(),
            mistaken + " is not read: what you say for all projects is in " + user);
  EXPECT_THAT(config.mistakes, IsEmpty()) << "no job is refused for it";
  Config inside;
  add_files(inside, {.machine = "", .user = user, .working_directory = folder});
  EXPECT_THAT(inside.unknown, IsEmpty()) << "there it is the project's, and read";
  EXPECT_EQ(inside.text("request.memory"), "3G");
}

TEST_F(ConfigFiles, IsolateEachJobOnlyWhereTheCheckHasShownThatItWorks) {
  const std::string folder = make_folder("etc");
  const auto doubt = [&] { return doubt_of_isolation(folder, ::geteuid()).english(); };
  EXPECT_THAT(doubt(), HasSubstr("has not run"));
  ASSERT_TRUE(note_isolation_check(folder, true));
  EXPECT_EQ(doubt(), "");
  EXPECT_THAT(doubt_of_isolation(folder, ::geteuid() + 1).english(), HasSubstr("isolation"));
  ASSERT_TRUE(note_isolation_check(folder, false));
  EXPECT_THAT(doubt(), HasSubstr("does not work"));
  write("etc/isolation", "5.10.0-old\n");
  EXPECT_THAT(doubt(), HasSubstr("ran under kernel 5.10.0-old and not under"));
  ASSERT_TRUE(note_isolation_check(folder, true));
  ::chmod((folder + "/isolation").c_str(), 0666);
  EXPECT_THAT(doubt(), HasSubstr("write"));
}

}  // namespace
}  // namespace berth
