#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorOpenFilesLow, FewerThanEveryLoginHas) {
  Examined host = healthy();
  host.world.limits->open_files = std::uint64_t{256};
  EXPECT_EQ(told(host), "warning open_files_low: the limit is 256 (ulimit -n)");
  EXPECT_EQ(commands_of(only(host)), "ulimit -n 65536\n");
  host.world.limits->open_files_hard = std::uint64_t{512};
  EXPECT_EQ(commands_of(only(host)), "ulimit -n 512\n") << "no more is allowed";
  host.world.limits->open_files_hard = std::uint64_t{256};
  EXPECT_EQ(commands_of(only(host)), "ulimit -Hn\n") << "what is allowed is used";
  host.world.limits->open_files = std::uint64_t{1024};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
