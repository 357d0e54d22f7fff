#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorOneCpuOfMany, AffinityToASingleOne) {
  Examined host = healthy();
  host.world.limits->cpus_allowed = std::uint64_t{1};
  EXPECT_EQ(told(host), "warning one_cpu_of_many: its affinity allows 1 of 16 CPUs");
  host.world.limits->cpus_allowed = std::uint64_t{2};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
