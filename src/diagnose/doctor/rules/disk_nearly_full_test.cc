#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::IsEmpty;

TEST(DoctorDiskNearlyFull, LessThanAGibibyteAndAFiftieth) {
  Examined host = healthy();
  host.world.directory->free = Bytes{100 << 20};
  EXPECT_EQ(told(host), "warning disk_nearly_full: 100 MiB of 900.0 GiB are free in /home/ada");
  host.world.directory->free = 1_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "room for a checkpoint";
  host.world.directory->free = Bytes{100 << 20};
  host.world.directory->total = 4_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "a small disk is not nearly full";
}

}  // namespace
}  // namespace berth::doctor
