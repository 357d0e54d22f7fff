#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DoctorMemoryLow, AlmostNoneIsAvailable) {
  Examined host = healthy();
  host.world.limits->memory_available = 1_GiB;
  EXPECT_EQ(told(host), "warning memory_low: 1.0 GiB of 64.0 GiB are available");
  host.world.limits->swap_total = 8_GiB;
  host.world.limits->swap_free = 5_GiB;
  EXPECT_THAT(only(host).evidence, SizeIs(1)) << "most of it is left";
  host.world.limits->swap_free = 1_GiB;
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("1.0 GiB of 8.0 GiB of swap"));
  host.world.limits->memory_available = 4_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "more than a twentieth";
}

}  // namespace
}  // namespace berth::doctor
