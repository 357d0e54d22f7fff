#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using namespace literals;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorSharedMemorySmall, OnAMachineAHintInAContainerAWarning) {
  Examined host = healthy();
  host.world.limits->shared_memory_total = host.world.limits->shared_memory_free = Bytes{64 << 20};
  EXPECT_EQ(told(host), "hint shared_memory_small: /dev/shm has 64 MiB, 64 MiB of it free");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("remount,size=8g /dev/shm"));
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_EQ(only(host).severity, Severity::warning);
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--shm-size=8g"));
  host.world.limits->shared_memory_total = host.world.limits->shared_memory_free = Bytes{256 << 20};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorSharedMemorySmall, FullIsToldAsSuch) {
  Examined host = healthy();
  host.world.limits->shared_memory_free = 1_GiB;
  EXPECT_EQ(told(host), "warning shared_memory_small: /dev/shm has 32.0 GiB, 1.0 GiB of it free");
  EXPECT_EQ(only(host).title.english(), "shared memory is full");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("ls -lS /dev/shm"));
  host.world.limits->shared_memory_free = 2_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
