#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace literals;

TEST(DoctorFolderSilent, EachIsNamed) {
  Examined host = healthy();
  host.facts.silent_folders = {"/mnt/data"};
  EXPECT_EQ(told(host), "error folder_silent: a look into it had not come back after two seconds");
  EXPECT_EQ(only(host).title.english(), "/mnt/data does not answer");
  EXPECT_FALSE(only(host).doubt.empty());
  host.facts.silent_folders.push_back("/mnt/more");
  EXPECT_THAT(rules_of(host), ElementsAre("folder_silent", "folder_silent"));
  host.facts.silent_folders.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorSlowDirectory, SlowToOpen) {
  Examined host = healthy();
  host.facts.directory->open_microseconds = std::int64_t{20'000};
  EXPECT_EQ(told(host),
            "hint slow_directory: /home/ada is on ext4; opening a file takes 20000 microseconds");
  host.facts.directory->open_microseconds = std::int64_t{5'000};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorSlowDirectory, SlowByItsTypeLeavesADoubtWhereItWasQuick) {
  Examined host = healthy();
  host.facts.directory->file_system = "nfs4";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "quick enough, whatever its type";
  host.facts.directory->file_system = "fuse.sshfs";
  EXPECT_THAT(told(host), HasSubstr("hint slow_directory: /home/ada is on fuse.sshfs"));
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorSlowDirectory, SlowToReadWhereEnoughCameFromTheDisk) {
  Examined host = healthy();
  const ReadSpeed slow{
      .file = "a.bin", .bytes = Bytes{8'000'000}, .microseconds = 800'000, .cached = 0.1};
  host.facts.directory->read_speed = slow;
  EXPECT_EQ(only(host).rule, "slow_directory");
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("a.bin was read at 10.0 MB/s"));
  const auto with = [&](auto change) {
    ReadSpeed other = slow;
    change(other);
    host.facts.directory->read_speed = other;
    return rules_of(host);
  };
  EXPECT_THAT(with([](ReadSpeed& one) { one.microseconds = 400'000; }), IsEmpty()) << "20 MB/s";
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = 0.25; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = Absent::unsupported; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.bytes = Bytes{(4 << 20) - 1}; }), IsEmpty());
  host.facts.directory->read_speed = Absent::failed;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not read in time is told, and is no finding";
}

TEST(DoctorDiskNearlyFull, LessThanAGibibyteAndAFiftieth) {
  Examined host = healthy();
  host.facts.directory->free = Bytes{100 << 20};
  EXPECT_EQ(told(host), "warning disk_nearly_full: 100 MiB of 900.0 GiB are free in /home/ada");
  host.facts.directory->free = 1_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "room for a checkpoint";
  host.facts.directory->free = Bytes{100 << 20};
  host.facts.directory->total = 4_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a small disk is not nearly full";
}

}  // namespace
}  // namespace berth::doctor
