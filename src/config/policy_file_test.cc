#include "config/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* path = "/etc/berth/berth.toml";

std::string refusal(std::string_view text) {
  const auto policy = parse_policy(text, path);
  return policy ? "" : policy.error().message();
}

TEST(PolicyFile, AKeyOfEndlessPartsIsAMistakeAndNoCrash) {
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  for (const std::string& text : {deep + " = 1", "[" + deep + "]", "x = {" + deep + " = 1}"}) {
    const auto policy = parse_policy(text, path);
    ASSERT_FALSE(policy);
    EXPECT_THAT(policy.error().message(), HasSubstr("at most 1000 parts"));
  }
}

TEST(PolicyFile, SaysWhatIsAllowedInTheOrderOfTheFile) {
  const auto policy = parse_policy(
      "[queue]\npriority_step = \"6h\"\n[group.z]\ndevices_at_most = 1\n[group.a]\n"
      "devices = [0, \"*H100*\"]\nquiet_hours = \"22:00-07:00\"\n[everybody]\ntime = \"24h\"\n"
      "prefer = [1, 0]\njobs_per_device = 3\n",
      path);
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_EQ(policy->priority_step, std::chrono::hours(6));
  ASSERT_EQ(policy->rules.size(), 3U);
  EXPECT_EQ(policy->rules[0].name, "z");
  EXPECT_EQ(policy->rules[0].origin, "/etc/berth/berth.toml:3");
  EXPECT_THAT(*policy->rules[1].rules.devices,
              ElementsAre(DevicePattern{"0"}, DevicePattern{"*H100*"}));
  EXPECT_EQ(policy->rules[2].rules.time, "24h");
  EXPECT_EQ(policy->rules[2].rules.prefer, "1,0");
  EXPECT_EQ(policy->rules[2].rules.jobs_per_device, 3);
}

TEST(PolicyFile, NamesASlipWithItsLineAndTheNearestRightWord) {
  EXPECT_THAT(
      refusal("[everybody]\n\ndevices_at_mots = 1\n"),
      HasSubstr("berth.toml:3: there is no key devices_at_mots; is devices_at_most meant?"));
  EXPECT_THAT(refusal("[queue]\npriority_stp = \"1h\"\n"), HasSubstr("queue.priority_step"));
  EXPECT_THAT(refusal("[everybody]\ndevices_at_most = -1\n"), HasSubstr("berth.toml:2"));
  EXPECT_THAT(refusal("[everybody]\nmemory = \"much\"\n"), HasSubstr("memory"));
  EXPECT_THAT(refusal("[everybody]\ntime = true\n"), HasSubstr("time"));
  EXPECT_THAT(refusal("[everybody]\nprefer = \"fastest\"\n"), HasSubstr("berth.toml:2"));
  EXPECT_THAT(refusal("[everybody\n"), HasSubstr("line 1"));
}

TEST(PolicyFile, RefusesZerosThatWouldForbidAllBySlipWithTheNearestRightValue) {
  EXPECT_THAT(refusal("[everybody]\njobs_per_device = 0\n"),
              AllOf(HasSubstr("berth.toml:2: jobs_per_device: 0 would"), HasSubstr("1 lets none")));
  EXPECT_THAT(refusal("[everybody]\n\ntime = \"0s\"\n"),
              AllOf(HasSubstr("berth.toml:3: time"), HasSubstr("for example 2h")));
  EXPECT_THAT(refusal("[everybody]\nidle_after = \"0s\"\n"),
              AllOf(HasSubstr("berth.toml:2: idle_after"), HasSubstr("for example 30m")));
  EXPECT_THAT(refusal("[everybody]\ntime = \"24\"\n"), HasSubstr("24m"));
  EXPECT_THAT(refusal("[everybody]\nmemory = \"0\"\n"), HasSubstr("berth.toml:2: memory"));
  EXPECT_THAT(refusal("[everybody]\ndevices = []\n"), HasSubstr("berth.toml:2: devices"));
  EXPECT_EQ(refusal("[user.guest]\ndevices_at_most = 0\n"), "") << "who is to have none";
}

TEST(PolicyFile, RemarksOnWhatThisServerDoesNotHave) {
  const auto policy = parse_policy(
      "[reap]\nnotify = [\"/no/such/program\"]\n[everybody]\ndevices = [\"99\", \"0\"]\n"
      "memory = \"999T\"\nprefer = \"7,0\"\n",
      path);
  ASSERT_TRUE(policy) << policy.error().message();
  const auto said = [&](const Snapshot& host) {
    std::vector<std::string> texts;
    for (const Sentence& one : remarks_on(*policy, host)) texts.push_back(one.english());
    return texts;
  };
  const auto of_notify = HasSubstr("reap.notify: /no/such/program cannot be run here: No such");
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.sources = {{.source = "nvml", .succeeded = true}};
  EXPECT_THAT(said(host), ElementsAre(of_notify,
                                      HasSubstr("berth.toml:3: devices: this server has "
                                                "no device 99"),
                                      HasSubstr("prefer: this server has no device 7"),
                                      HasSubstr("no device of this server has 999T; the largest "
                                                "has 80.0 GiB")));
  host.devices[0].memory_total = Absent::failed;
  EXPECT_THAT(said(host), SizeIs(3)) << "what it has is not known";
  EXPECT_THAT(said(Snapshot{}), ElementsAre(of_notify)) << "nothing is known of its devices";
}

TEST(PolicyFile, RemarksOnAFolderThatIsToTellOwners) {
  const TemporaryDirectory folder;
  const auto policy = parse_policy("[reap]\nnotify = [\"" + (folder / "") + "\"]\n", path);
  ASSERT_TRUE(policy) << policy.error().message();
  const auto remark = remark_on_notify(*policy);
  ASSERT_TRUE(remark);
  EXPECT_THAT(remark->english(), HasSubstr("cannot be run here: Is a directory"));
  EXPECT_FALSE(remark_on_notify(*parse_policy("[reap]\nnotify = [\"/bin/true\"]\n", path)));
}

TEST(PolicyFile, RemarksOnAUserWithTwoTables) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "passwd") << "anna:x:1000:1000::/home/anna:/bin/sh\n";
  const auto policy = parse_policy(
      "[user.anna]\ndevices_at_most = 1\n[user.1000]\ndevices_at_most = 2\n[user.1001]\n", path);
  ASSERT_TRUE(policy) << policy.error().message();
  const auto remarks = remarks_on(*policy, {.passwd = folder / "passwd", .group = folder / "no"});
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_THAT(remarks[0].english(), AllOf(HasSubstr("berth.toml:3: user anna has a table already"),
                                          HasSubstr("berth.toml:1")));
}

TEST(PolicyFile, ThatEverybodyCanWriteIsNotTakenForInstallation) {
  const TemporaryDirectory folder;
  const PolicyPlaces places{.file = folder / "etc/berth.toml", .owner = ::geteuid()};
  const std::string mine = folder / "mine.toml";
  std::ofstream(mine) << "[everybody]\ndevices_at_most = 1\n";
  ::chmod(mine.c_str(), 0666);
  const auto checked = check_policy(mine);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("chmod o-w"));
  EXPECT_FALSE(install_policy(mine, places));
  ::chmod(mine.c_str(), 0664);
  EXPECT_TRUE(check_policy(mine));
}

TEST(PolicyFile, SaysOfAWordThatThereIsWhereItBelongs) {
  EXPECT_THAT(refusal("everybody = 3\n"),
              HasSubstr("berth.toml:1: everybody is a table: write [everybody]"));
  EXPECT_THAT(refusal("group = 3\n"), HasSubstr("write [group.NAME]"));
  EXPECT_THAT(refusal("reap = 3\n"), HasSubstr("write [reap]"));
  EXPECT_THAT(refusal("[user]\nanna = 3\n"), HasSubstr("write [user.anna]"));
  EXPECT_THAT(refusal("devices_at_most = 3\n"), HasSubstr("belongs below [everybody]"));
  EXPECT_THAT(refusal("[everybody]\nreap = 3\n"), HasSubstr("write [reap]"));
  for (const char* text : {"[group.\"\"]\ndevices_at_most = 1\n", "[user.\"\"]\n"}) {
    EXPECT_THAT(refusal(text), HasSubstr("names nobody")) << text;
  }
  for (const char* text : {"everybody = 3\n", "[everybody]\ngroup = 1\n", "devices = \"0\"\n",
                           "\"queue.fair_share\" = \"1h\"\n"}) {
    EXPECT_THAT(refusal(text), Not(HasSubstr("meant?"))) << text;
  }
}

TEST(PolicyFile, IsReadWhereItIsItsOwnersAlone) {
  const TemporaryDirectory folder;
  const PolicyPlaces places{.file = folder / "berth.toml", .owner = ::geteuid()};
  EXPECT_EQ(read_policy(places)->path, "") << "there is none";
  std::ofstream(places.file) << "[everybody]\ndevices_at_most = 1\n";
  ::chmod(places.file.c_str(), 0644);
  EXPECT_EQ(read_policy(places)->path, places.file);
  ::chmod(places.file.c_str(), 0664);
  EXPECT_THAT(read_policy(places).error().message(), HasSubstr("nothing is claimed"));
  ::chmod(places.file.c_str(), 0644);
  PolicyPlaces of_another = places;
  of_another.owner = ::geteuid() + 1;
  EXPECT_EQ(read_policy(of_another).error().code(), ErrorCode::no_permission);
}

TEST(PolicyFile, IsInstalledWholeOrNotAtAll) {
  const TemporaryDirectory folder;
  const PolicyPlaces places{.file = folder / "etc/berth.toml", .owner = ::geteuid()};
  const std::string mine = folder / "mine.toml";
  std::ofstream(mine) << "[everybody]\ndevices_at_most = 1\n";
  ASSERT_TRUE(install_policy(mine, places));
  std::ofstream(mine) << "[everybody]\ndevices_at_most = what\n";
  EXPECT_FALSE(install_policy(mine, places));
  EXPECT_THAT(*read_file(places.file), HasSubstr("= 1"));
}

TEST(PolicyFile, SaysWhatBecomesOfIdleHoldersAndWhoTells) {
  const auto policy = parse_policy(
      "[queue]\nfair_share = \"8h\"\n[reap]\nnotify = [\"/usr/bin/tell\", \"now\"]\n"
      "notice = \"2h\"\n[everybody]\nidle_holders = \"end\"\n",
      path);
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_EQ(policy->fair_share, std::chrono::hours(8));
  EXPECT_THAT(policy->notify, ElementsAre("/usr/bin/tell", "now"));
  EXPECT_EQ(policy->notice, std::chrono::hours(2));
  EXPECT_EQ(policy->rules[0].rules.idle_holders, IdleHolders::end);
  EXPECT_THAT(refusal("[reap]\nnotify = [\"mail\"]\n"), HasSubstr("the whole path"));
  EXPECT_THAT(refusal("[reap]\nnotify = \"/bin/mail -s idle\"\n"), HasSubstr("a list of words"));
  EXPECT_THAT(refusal("[reap]\nnotice_ = \"1h\"\n"), HasSubstr("is reap.notice meant?"));
  EXPECT_THAT(refusal("[everybody]\nidle_holders = \"kill\"\n"), HasSubstr("notify or end"));
}

/// A policy that counts hours, and what root's server has written down.
class Hours : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(places.file) << "[everybody]\nhours_at_most = 10\n";
    ::chmod(places.file.c_str(), 0644);
    ASSERT_TRUE(write_hours({{1000, 12.5}}, taken, places.hours));
  }
  std::optional<double> used() const {
    const auto policy = read_policy(places);
    if (!policy || !policy->hours_used) return std::nullopt;
    return policy->hours_used->at(1000);
  }
  const TemporaryDirectory folder;
  const WallTime taken{1'900'000'000'000};
  PolicyPlaces places{.file = folder / "berth.toml",
                      .owner = ::geteuid(),
                      .hours = folder / "hours",
                      .now = WallTime{taken.unix_ms + 60'000}};
};

TEST_F(Hours, AreThoseThatAreWrittenDown) { EXPECT_EQ(used(), 12.5); }

TEST_F(Hours, LieWhereEverybodyMayReadThemWhoeverMadeTheFolder) {
  const std::string inside = folder / ".";
  ASSERT_EQ(::chmod(inside.c_str(), 0700), 0);
  ASSERT_TRUE(write_hours({{1000, 1}}, taken, places.hours));
  struct stat facts{};
  ASSERT_EQ(::stat(inside.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0711U) << "it is passed through, and not listed";
  ASSERT_EQ(::stat(places.hours.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0644U);
}

TEST_F(Hours, AreNotKnownWhereTheyAreOldOrOfATimeToCome) {
  places.now = WallTime{taken.unix_ms + hours_last.count() + 1};
  EXPECT_EQ(used(), std::nullopt);
  places.now = WallTime{taken.unix_ms - 3'600'000};
  EXPECT_EQ(used(), std::nullopt);
  places.now.reset();
  EXPECT_EQ(used(), std::nullopt);
}

TEST_F(Hours, OfAFileThatOthersMayWriteCountForNothing) {
  ::chmod(places.hours.c_str(), 0666);
  EXPECT_EQ(used(), std::nullopt);
}

TEST_F(Hours, OfAnotherOwnersFileCountForNothing) {
  places.owner = ::geteuid() + 1;
  EXPECT_FALSE(read_policy(places)) << "nor does the policy";
  std::ofstream(places.hours) << "1000 0\n";
  places.owner = ::geteuid();
  EXPECT_EQ(used(), std::nullopt) << "without its first line it is nobody's";
}

TEST(PolicyFile, ATableOfNobodyIsToldWithTheNearestName) {
  const TemporaryDirectory folder;
  const PolicyPlaces places{.passwd = folder / "passwd", .group = folder / "group"};
  std::ofstream(places.passwd) << "anna:x:1001:50:::\nben:x:1002:50:::\n";
  std::ofstream(places.group) << "staff:x:50:\n";
  const auto policy =
      parse_policy("[user.anan]\n[user.ben]\n[user.1003]\n[group.staf]\n[group.staff]\n", path);
  ASSERT_TRUE(policy) << policy.error().message();
  const auto remarks = remarks_on(*policy, places);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_THAT(remarks[0].english(), HasSubstr("berth.toml:1"));
  EXPECT_THAT(remarks[0].english(),
              HasSubstr("no user anan, so the table applies to no one; is anna meant?"));
  EXPECT_THAT(remarks[1].english(),
              HasSubstr("no group staf, so the table applies to no one; is staff meant?"));
}

TEST(PolicyFile, KnowsUsersByTheMachinesOwnFiles) {
  const TemporaryDirectory folder;
  const PolicyPlaces places{.passwd = folder / "passwd", .group = folder / "group"};
  std::ofstream(places.passwd) << "anna:x:1001:50:::\n";
  std::ofstream(places.group) << "staff:x:50:\nlab:x:60:ben,anna\nother:x:70:annab\n";
  const PolicyUser anna = policy_user(1001, places);
  EXPECT_EQ(anna.name, "anna");
  EXPECT_THAT(anna.groups, ElementsAre("staff", "lab"));
  EXPECT_EQ(policy_user(2000, places).name, "2000");
}

}  // namespace
}  // namespace berth
