#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorNcclOldNames, NamesThatPytorchHasGivenUp) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_EQ(told(host),
            "hint nccl_old_names: NCCL_BLOCKING_WAIT is called TORCH_NCCL_BLOCKING_WAIT now");
  EXPECT_EQ(
      commands_of(only(host)),
      "export TORCH_NCCL_BLOCKING_WAIT=\"$NCCL_BLOCKING_WAIT\" && unset NCCL_BLOCKING_WAIT\n");
}

TEST(DoctorNcclOldNames, BesideTheNewNameOrForAnOlderTorchTheyAreWell) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_BLOCKING_WAIT", "1"}, {"TORCH_NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {{"NCCL_BLOCKING_WAIT", "1"}};
  host.world.python->frameworks = {torch_for("2.1.2+cu121", TwoPart{12, 1})};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
