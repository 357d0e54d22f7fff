#include "base/user_name.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

TEST(UserName, IsTheFirstEntryOfTheNumber) {
  const std::string_view text =
      "root:x:0:0:root:/root:/bin/sh\n\nbroken\nalice:x:1001:1001::/home/alice:\n"
      "alias:x:1001:1::/:\n:x:1002:1::/:\n";
  EXPECT_EQ(user_in_passwd(text, 1001), "alice");
  EXPECT_EQ(user_in_passwd(text, 0), "root");
  EXPECT_FALSE(user_in_passwd(text, 1002));
  EXPECT_FALSE(user_in_passwd(text, 77));
  EXPECT_FALSE(user_in_passwd("+::::::", 0));
}

TEST(PasswdHome, IsAnAbsolutePathOrNothing) {
  EXPECT_EQ(home_in_passwd("a:x:7:7::/home/a:/bin/sh\n", 7), "/home/a");
  EXPECT_FALSE(home_in_passwd("a:x:7:7::/home/a:/bin/sh\n", 8));
  EXPECT_FALSE(home_in_passwd("a:x:7:7::relative:/bin/sh\na:x:7", 7));
}

TEST(UserName, IsTheNumberWhereTheFileHasNone) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(
      write_file_atomically(folder / "passwd", "root:x:0:0::/:/bin/sh\nann:x:1234:1:Ann:/:\n"));
  EXPECT_EQ(local_user_name(1234, folder / "passwd"), "ann");
  EXPECT_EQ(local_user_name(77, folder / "passwd"), "77");
  EXPECT_EQ(local_user_name(77, folder / "nowhere"), "77");
}

TEST(UserDirectory, KnowsRootByNameAndHome) {
  const auto root = user_in_directory(0);  // files come before services
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  EXPECT_TRUE(root->home.starts_with('/')) << root->home;
}

}  // namespace
}  // namespace berth
