#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorMemoryLimitNear, AlmostAllOfItIsCharged) {
  Examined host = healthy();
  host.world.limits->memory_limit = 8_GiB;
  host.world.limits->memory_charged = Bytes{(8ULL << 30) - 1};
  EXPECT_THAT(told(host), HasSubstr("warning memory_limit_near: 8.0 GiB of 8.0 GiB are charged"));
  EXPECT_FALSE(only(host).doubt.empty());
  host.world.limits->memory_charged = 7_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMemoryLimitNear, LimitAboveTheMachinesMemoryLimitsNothing) {
  Examined host = healthy();
  host.world.limits->memory_limit = host.world.limits->memory_charged = 64_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
