// What launchers that were killed while they made a record have left, and what becomes of it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/lock.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"

namespace berth {
namespace {

using std::filesystem::file_time_type;
using ::testing::UnorderedElementsAre;

class Unfinished : public ::testing::Test {
 protected:
  /// A directory in which nothing has changed for so long.
  void put(const std::string& name, std::chrono::minutes age, bool with_lock = true) const {
    const std::string path = runs_ + "/" + name;
    ASSERT_TRUE(make_directories(path, 0700));
    if (with_lock) {
      ASSERT_TRUE(write_file_atomically(path + "/keeper.lock", "", 0600));
      ASSERT_TRUE(write_file_atomically(path + "/marks", "", 0600));
    }
    std::filesystem::last_write_time(path, file_time_type::clock::now() - age);
  }
  void launch(const std::string& id) const {
    Manifest manifest;
    manifest.id = id;
    ASSERT_TRUE(RecordWriter::create(state_, manifest));
  }
  [[nodiscard]] std::vector<std::string> in(const std::string& folder) const {
    return list_directory(folder).value_or(std::vector<std::string>{"unreadable"});
  }

  TemporaryDirectory directory_;
  std::string state_ = directory_ / "state";
  std::string runs_ = runs_directory(state_);
  std::string new_ = runs_ + "/.new";
};

TEST_F(Unfinished, OfKilledLaunchersIsSweptByALaterOne) {
  put(".new/20251121-014946-aaaaaa", std::chrono::minutes(11));
  put(".new/20251121-014946-bbbbbb", std::chrono::minutes(11), false);
  put("20251121-014946-cccccc", std::chrono::minutes(11));
  launch("20251121-020000-dddddd");
  EXPECT_THAT(in(new_), UnorderedElementsAre());
  EXPECT_THAT(in(runs_),
              UnorderedElementsAre(".new", "20251121-014946-cccccc", "20251121-020000-dddddd"));
}

TEST_F(Unfinished, OfALauncherThatLivesStays) {
  put(".new/young", std::chrono::minutes(1));
  put(".new/stopped", std::chrono::minutes(60));
  const auto held = open_fd(new_ + "/stopped/keeper.lock", O_RDWR);
  ASSERT_TRUE(held && take_ofd_lock(held->get()));
  launch("20251121-020000-dddddd");
  EXPECT_THAT(in(new_), UnorderedElementsAre("young", "stopped"));
}

TEST_F(Unfinished, OfAnOlderVersionIsSweptOnceAndNothingElse) {
  put(".20251121-014946-aaaaaa.new", std::chrono::minutes(11));
  put(".mine", std::chrono::minutes(11));
  put("20251121-014946-cccccc", std::chrono::minutes(11));
  launch("20251121-020000-dddddd");
  EXPECT_THAT(in(runs_), UnorderedElementsAre(".new", ".mine", "20251121-014946-cccccc",
                                              "20251121-020000-dddddd"));
}

TEST_F(Unfinished, ThatCannotBeFinishedIsTakenAway) {
  ASSERT_TRUE(make_directories(runs_ + "/20251121-020000-dddddd/in the way", 0700));
  Manifest manifest;
  manifest.id = "20251121-020000-dddddd";
  EXPECT_FALSE(RecordWriter::create(state_, manifest));
  EXPECT_THAT(in(new_), UnorderedElementsAre());
}

TEST_F(Unfinished, IsNoRun) {
  put(".new/20251121-014946-aaaaaa", std::chrono::minutes(1));
  launch("20251121-020000-dddddd");
  EXPECT_EQ(list_runs(state_)->runs.size(), 1U);
  EXPECT_FALSE(load_run(state_, ".new"));
}

}  // namespace
}  // namespace berth
