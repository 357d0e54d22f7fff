#include "serve/fleet_members.h"

#include <gmock/gmock.h>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string shown(std::string_view word) {
  const auto member = parse_member(word);
  return member ? member->name + " " + origin_of(member->url) + member->url.target
                : "refused: " + member.error().message();
}

TEST(ParseMember, AsksAtBerthsPortUnlessToldOtherwise) {
  EXPECT_EQ(shown("gpu1"), "gpu1 http://gpu1:9700");
  EXPECT_EQ(shown("gpu1:9800"), "gpu1:9800 http://gpu1:9800");
  EXPECT_EQ(shown("10.0.0.5"), "10.0.0.5 http://10.0.0.5:9700");
  EXPECT_EQ(shown("[::1]"), "[::1] http://[::1]:9700");
  EXPECT_EQ(shown("[::1]:80"), "[::1] http://[::1]");
}

TEST(ParseMember, TakesAUrlAsItIs) {
  EXPECT_EQ(shown("https://gpu1.lab"), "gpu1.lab https://gpu1.lab");
  EXPECT_EQ(shown("https://gpu1.lab:9700/"), "gpu1.lab https://gpu1.lab:9700");
  EXPECT_EQ(shown("https://lab/berth/gpu1/"), "lab https://lab/berth/gpu1");
  EXPECT_EQ(shown("unix:/run/other.sock"), "/run/other.sock unix:/run/other.sock");
}

TEST(ParseMember, CallsItAsOneWants) {
  EXPECT_EQ(shown("big=https://gpu1.lab"), "big https://gpu1.lab");
  EXPECT_EQ(shown("big=gpu1"), "big http://gpu1:9700");
}

TEST(ParseMember, RefusesWhatNamesNoServer) {
  for (const char* word : {"", "=gpu1", "gpu1:", "gpu1:x", "a b", "ftp://gpu1", "http://gpu1/?a=b",
                           "https://bob:secret@gpu1", "\x1b[2J=gpu1"}) {
    EXPECT_THAT(shown(word), HasSubstr("refused: ")) << word;
  }
}

TEST(ParseMemberFile, ReadsHostsWithOptionsAndComments) {
  const auto members = parse_member_file(
      "# the room\n\n"
      "gpu1\n"
      "  big=https://gpu2.lab\ttoken_file=/etc/berth/gpu2.token  ca=/etc/berth/ca.pem # old\n"
      "gpu3 certificate=/a key=/b\r\n");
  ASSERT_TRUE(members) << members.error().message();
  ASSERT_THAT(*members, SizeIs(3));
  EXPECT_EQ((*members)[1].name, "big");
  EXPECT_EQ((*members)[1].token_file, "/etc/berth/gpu2.token");
  EXPECT_EQ((*members)[1].tls.authority, "/etc/berth/ca.pem");
  EXPECT_EQ((*members)[2].tls.key, "/b");
}

TEST(ParseMemberFile, SaysTheLineOfAMistake) {
  const auto unknown = parse_member_file("gpu1\ngpu2 tokenfile=/x\n");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("line 2"));
  EXPECT_THAT(unknown.error().message(), HasSubstr("tokenfile=/x"));
  EXPECT_FALSE(parse_member_file("gpu1 certificate=/a\n"));
}

TEST(MembersOf, RefusesTwoOfOneName) {
  JoinSettings settings;
  settings.hosts = {"gpu1", "gpu1=https://gpu2"};
  const auto members = members_of(settings);
  ASSERT_FALSE(members);
  EXPECT_THAT(members.error().message(), HasSubstr("two hosts are called gpu1"));
}

TEST(MembersOf, PutsListAndFileTogether) {
  const TemporaryDirectory directory;
  JoinSettings settings;
  settings.hosts = {"gpu1"};
  settings.file = directory.path() + "/hosts";
  ASSERT_TRUE(write_file_atomically(settings.file, "gpu2\ngpu3\n"));
  const auto members = members_of(settings);
  ASSERT_TRUE(members) << members.error().message();
  EXPECT_THAT(*members, SizeIs(3));
}

TEST(MembersOf, NamesTheFileThatCannotBeRead) {
  JoinSettings settings;
  settings.file = "/nonexistent/hosts";
  const auto members = members_of(settings);
  ASSERT_FALSE(members);
  EXPECT_THAT(members.error().message(), HasSubstr("/nonexistent/hosts"));
}

TEST(MembersOf, RefusesMoreThanAThousand) {
  JoinSettings settings;
  for (int i = 0; i < 1001; ++i) settings.hosts.push_back("gpu" + std::to_string(i));
  EXPECT_FALSE(members_of(settings));
}

}  // namespace
}  // namespace berth::serve
