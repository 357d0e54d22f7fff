#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorVisibleDevices, ListThatSaysWhatIsMeant) {
  Examined host = healthy();
  host.visible = VisibleList{.value = "0,1", .devices = {DeviceId("GPU-a"), DeviceId("GPU-b")}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorVisibleDevices, HidesAllBreaksOffOrIsAGuess) {
  Examined host = healthy();
  host.visible = VisibleList{.value = "-1", .remarks = {"-1 ends the list"}};
  EXPECT_EQ(told(host),
            "warning visible_devices_none: CUDA_VISIBLE_DEVICES=\"-1\"; -1 ends the list");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_VISIBLE_DEVICES\n");
  host.visible =
      VisibleList{.value = "0,x", .devices = {DeviceId("GPU-a")}, .remarks = {"entry 2"}};
  EXPECT_EQ(told(host), "warning visible_devices_broken: CUDA_VISIBLE_DEVICES=\"0,x\"; entry 2");
  host.visible = VisibleList{.value = "0", .unclear = "the cards differ"};
  EXPECT_EQ(told(host), "hint visible_devices_unclear: the cards differ");
}

}  // namespace
}  // namespace berth::doctor
