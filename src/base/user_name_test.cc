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

TEST(Passwd, UsersAreLinesWithANameAndANumber) {
  const auto users = users_in_passwd(
      "root:x:0:0:root:/root:/bin/sh\n\nbroken\n+::::::\n:x:1:1::/:\nnone:x:4294967295:1::/:\n"
      "ann:x:1001:no\n");
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].name, "root");
  EXPECT_EQ(users[0].home, "/root");
  EXPECT_EQ(users[0].gid, gid_t{0});
  EXPECT_EQ(users[1].uid, uid_t{1001});
  EXPECT_FALSE(users[1].gid);
  EXPECT_EQ(users[1].home, "");
}

TEST(Passwd, GroupsAreLinesWithAName) {
  const auto groups = groups_in_file("vision:x:2000:ann,bob\n:x:1:ann\nodd:x:no:\nshort:x:1\n");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].gid, gid_t{2000});
  EXPECT_EQ(groups[0].members, (std::vector<std::string_view>{"ann", "bob"}));
  EXPECT_EQ(groups[1].name, "odd");
  EXPECT_FALSE(groups[1].gid);
}

TEST(Passwd, NeitherDaemonsNorNobodyArePeople) {
  EXPECT_FALSE(is_person(0));
  EXPECT_FALSE(is_person(999));
  EXPECT_TRUE(is_person(1000));
  EXPECT_FALSE(is_person(65534));
  EXPECT_TRUE(is_person(1'000'000));
}

TEST(UserNumber, IsTheNamesOrTheNumberItself) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(write_file_atomically(folder / "passwd", "ann:x:no:1::/:\nann:x:1234:1:Ann:/:\n"));
  EXPECT_EQ(local_uid_of("ann", folder / "passwd"), uid_t{1234});
  EXPECT_EQ(local_uid_of("77", folder / "nowhere"), uid_t{77});
  EXPECT_FALSE(local_uid_of("bob", folder / "passwd"));
  EXPECT_FALSE(local_uid_of("4294967295", folder / "passwd"));
}

TEST(UserDirectory, KnowsRootByNameAndHome) {
  const auto root = user_in_directory(0);  // files come before services
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  EXPECT_TRUE(root->home.starts_with('/')) << root->home;
}

}  // namespace
}  // namespace berth
