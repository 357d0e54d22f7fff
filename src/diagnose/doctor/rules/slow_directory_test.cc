#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorSlowDirectory, SlowToOpen) {
  Examined host = healthy();
  host.world.directory->open_microseconds = std::int64_t{20'000};
  EXPECT_EQ(told(host),
            "hint slow_directory: /home/ada is on ext4; opening a file takes 20000 microseconds");
  host.world.directory->open_microseconds = std::int64_t{5'000};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorSlowDirectory, SlowByItsTypeLeavesADoubtWhereItWasQuick) {
  Examined host = healthy();
  host.world.directory->file_system = "nfs4";
  EXPECT_THAT(rules_of(host), IsEmpty()) << "quick enough, whatever its type";
  host.world.directory->file_system = "fuse.sshfs";
  EXPECT_THAT(told(host), HasSubstr("hint slow_directory: /home/ada is on fuse.sshfs"));
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorSlowDirectory, SlowToReadWhereEnoughCameFromTheDisk) {
  Examined host = healthy();
  const ReadSpeed slow{
      .file = "a.bin", .bytes = Bytes{8'000'000}, .microseconds = 800'000, .cached = 0.1};
  host.world.directory->read_speed = slow;
  EXPECT_EQ(only(host).rule, "slow_directory");
  EXPECT_EQ(only(host).severity, Severity::hint);
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("a.bin was read at 10.0 MB/s"));
  const auto with = [&](auto change) {
    ReadSpeed other = slow;
    change(other);
    host.world.directory->read_speed = other;
    return rules_of(host);
  };
  EXPECT_THAT(with([](ReadSpeed& one) { one.microseconds = 400'000; }), IsEmpty()) << "20 MB/s";
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = 0.25; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.cached = Absent::unsupported; }), IsEmpty());
  EXPECT_THAT(with([](ReadSpeed& one) { one.bytes = Bytes{(4 << 20) - 1}; }), IsEmpty());
  host.world.directory->read_speed = Absent::failed;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not read in time is told, and is no finding";
}

}  // namespace
}  // namespace berth::doctor
