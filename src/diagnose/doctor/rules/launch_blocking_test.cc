#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorLaunchBlocking, TheCpuWaitsForEveryKernel) {
  Examined host = healthy();
  host.world.variables = {{"CUDA_LAUNCH_BLOCKING", "1"}};
  EXPECT_EQ(told(host), "hint launch_blocking: CUDA_LAUNCH_BLOCKING=1");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_LAUNCH_BLOCKING\n");
  host.world.variables = {{"CUDA_LAUNCH_BLOCKING", "0"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
