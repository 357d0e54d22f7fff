#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorDeviceOrderUnknown, OrderThatCudaDoesNotKnow) {
  Examined host = healthy();
  for (const char* known : {"PCI_BUS_ID", "FASTEST_FIRST", ""}) {
    host.world.variables = {{"CUDA_DEVICE_ORDER", known}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << known;
  }
  host.world.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS"}};
  EXPECT_EQ(told(host), "hint device_order_unknown: CUDA_DEVICE_ORDER=PCI_BUS");
  host.snapshot.devices.pop_back();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "one GPU has one number";
}

}  // namespace
}  // namespace berth::doctor
