#include "serve/people_watch.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth::serve {
namespace {

constexpr auto alices_line = "alice:x:1001:1001::/home/alice:/bin/bash\n";
constexpr auto bobs_line = "bob:x:1002:1002::/home/bob:/bin/bash\n";

class PeopleWatchTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(path, text, 0644));
  }
  TemporaryDirectory directory_;
  std::string passwd_ = directory_.path() + "/passwd";
  std::string group_ = directory_.path() + "/group";
  PeopleWatch people_{passwd_, group_};
};

TEST_F(PeopleWatchTest, WhoIsAddedIsKnownAndWhatStaysTheSameIsReadOnce) {
  write(passwd_, alices_line);
  write(group_, "");
  EXPECT_TRUE(people_.look_again());
  EXPECT_FALSE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1001), "alice");
  EXPECT_EQ(people_.book()->name_of(1002), "1002");
  write(passwd_, std::string(alices_line) + bobs_line);
  EXPECT_TRUE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1002), "bob");
  EXPECT_EQ(people_.passwd(), std::string(alices_line) + bobs_line);
  EXPECT_FALSE(people_.book()->share_group(1001, 1002));
  write(group_, "lab:x:500:alice,bob\n");
  EXPECT_TRUE(people_.look_again());
  EXPECT_TRUE(people_.book()->share_group(1001, 1002));
}

TEST_F(PeopleWatchTest, AReadThatFailsLosesNobodyAndIsTriedAgain) {
  write(passwd_, alices_line);
  write(group_, "lab:x:500:alice\n");
  ASSERT_TRUE(people_.look_again());
  // A folder in its place is there, is another file, and cannot be read.
  ASSERT_EQ(std::remove(passwd_.c_str()), 0);
  ASSERT_TRUE(make_directories(passwd_, 0755));
  EXPECT_FALSE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1001), "alice");
  EXPECT_EQ(people_.passwd(), alices_line);
  ASSERT_EQ(std::remove(passwd_.c_str()), 0);
  EXPECT_FALSE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1001), "alice");
  write(passwd_, bobs_line);
  EXPECT_TRUE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1002), "bob");
}

TEST_F(PeopleWatchTest, WithoutTheFilesTheFirstLookIsALookAllTheSame) {
  EXPECT_TRUE(people_.look_again());
  EXPECT_FALSE(people_.look_again());
  EXPECT_EQ(people_.book()->name_of(1001), "1001");
  EXPECT_TRUE(people_.passwd().empty());
}

}  // namespace
}  // namespace berth::serve
