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
  host.visible = VisibleList{.value = "-1", .remarks = {Sentence("-1 ends the list")}};
  EXPECT_EQ(told(host),
            "warning visible_devices_none: CUDA_VISIBLE_DEVICES=\"-1\"; -1 ends the list");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_VISIBLE_DEVICES\n");
  host.visible =
      VisibleList{.value = "0,x", .devices = {DeviceId("GPU-a")}, .remarks = {Sentence("entry 2")}};
  EXPECT_EQ(told(host), "warning visible_devices_broken: CUDA_VISIBLE_DEVICES=\"0,x\"; entry 2");
  host.visible = VisibleList{.value = "0", .unclear = Sentence("the cards differ")};
  EXPECT_EQ(told(host), "hint visible_devices_unclear: the cards differ");
}

TEST(DoctorVisibleDevices, MistakenListIsCorrected) {
  Examined host = healthy();
  VisibleList list{
      .value = "1,-1,0", .devices = {DeviceId("GPU-b")}, .remarks = {Sentence("entry 2")}};
  host.visible = list;
  EXPECT_EQ(commands_of(only(host)), "\n") << "no card can be named";
  list.corrected = "1,0";
  host.visible = list;
  EXPECT_EQ(commands_of(only(host)), "export CUDA_VISIBLE_DEVICES=1,0\n");
  list.devices.clear();
  host.visible = list;
  EXPECT_EQ(only(host).rule, "visible_devices_none");
  EXPECT_EQ(commands_of(only(host)), "export CUDA_VISIBLE_DEVICES=1,0\n");
  host.snapshot.devices[1].name = std::string("NVIDIA Other");
  EXPECT_EQ(commands_of(only(host)),
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0\n");
  host.facts.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  EXPECT_EQ(commands_of(only(host)), "export CUDA_VISIBLE_DEVICES=1,0\n");
}

TEST(DoctorVisibleDevices, MistakenListOfUnlikeCardsIsCorrectedToo) {
  Examined host = healthy();
  host.snapshot.devices[1].name = std::string("NVIDIA Other");
  host.visible = VisibleList{.value = "0,0",
                             .remarks = {Sentence("entry 2")},
                             .corrected = "0",
                             .unclear = Sentence("the cards differ")};
  EXPECT_EQ(told(host), "warning visible_devices_broken: CUDA_VISIBLE_DEVICES=\"0,0\"; entry 2");
  EXPECT_EQ(commands_of(only(host)),
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0\n");
}

TEST(DoctorDeviceOrderUnknown, OrderThatCudaDoesNotKnow) {
  Examined host = healthy();
  for (const char* known : {"PCI_BUS_ID", "FASTEST_FIRST", ""}) {
    host.facts.variables = {{"CUDA_DEVICE_ORDER", known}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << known;
  }
  host.facts.variables = {{"CUDA_DEVICE_ORDER", "PCI_BUS"}};
  EXPECT_EQ(told(host), "hint device_order_unknown: CUDA_DEVICE_ORDER=PCI_BUS");
  host.snapshot.devices.pop_back();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "one GPU has one number";
}

TEST(DoctorCudaOrderDiffers, NumbersInAnotherOrder) {
  Examined host = healthy();
  std::swap(host.facts.cuda->devices[0], host.facts.cuda->devices[1]);
  EXPECT_EQ(told(host),
            "hint cuda_order_differs: cuda:0 is nvidia-smi's 1 (Test GPU); cuda:1 is nvidia-smi's "
            "0 (Test GPU)");
  host.visible = VisibleList{.value = "1,0", .devices = {DeviceId("GPU-b"), DeviceId("GPU-a")}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "somebody asked for that order";
}

TEST(DoctorCudaOrderDiffers, DeviceThatTheDriversListLacksSaysNothingOfTheOrder) {
  Examined host = healthy();
  host.facts.cuda->devices = {{"b", "Test GPU"}, {"c", "Test GPU"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
