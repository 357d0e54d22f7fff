#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorCudaOrderDiffers, NumbersInAnotherOrder) {
  Examined host = healthy();
  std::swap(host.world.cuda->devices[0], host.world.cuda->devices[1]);
  EXPECT_EQ(told(host),
            "hint cuda_order_differs: cuda:0 is nvidia-smi's 1 (Test GPU); cuda:1 is nvidia-smi's "
            "0 (Test GPU)");
  host.visible = VisibleList{.value = "1,0", .devices = {DeviceId("GPU-b"), DeviceId("GPU-a")}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "somebody asked for that order";
}

TEST(DoctorCudaOrderDiffers, DeviceThatTheDriversListLacksSaysNothingOfTheOrder) {
  Examined host = healthy();
  host.world.cuda->devices = {{"b", "Test GPU"}, {"c", "Test GPU"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
