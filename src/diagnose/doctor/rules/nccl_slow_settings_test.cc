#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorNcclSlowSettings, WaysThatAreSwitchedOff) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
  EXPECT_EQ(told(host), "hint nccl_slow_settings: NCCL_P2P_DISABLE=1; NCCL_SHM_DISABLE=1");
  EXPECT_FALSE(only(host).doubt.empty());
  host.snapshot.devices.pop_back();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "one GPU exchanges with nobody";
}

TEST(DoctorNcclSlowSettings, OnesThatCostNothing) {
  Examined host = healthy();
  host.world.variables = {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {{"NCCL_IB_DISABLE", "1"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "there is no InfiniBand";
  host.world.interfaces.push_back("ib0");
  EXPECT_EQ(told(host), "hint nccl_slow_settings: NCCL_IB_DISABLE=1");
}

}  // namespace
}  // namespace berth::doctor
