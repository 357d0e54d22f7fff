#include "snapshot/device_name.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(DeviceName, IsTheNumberOfACardAndTheIdOfWhatHasNoneOfItsOwn) {
  Device card;
  card.id = DeviceId("GPU-A");
  EXPECT_EQ(name_for_people(card), "GPU-A") << "no longer listed: another may have its number";
  card.index = 0;
  EXPECT_EQ(name_for_people(card), "GPU 0");
  Device instance = card;
  instance.id = DeviceId("MIG-B");
  instance.parent = card.id;
  EXPECT_EQ(name_for_people(instance), "MIG-B");
}

TEST(DeviceName, IsShortWithoutTheWordsThatAllOfAMakerHave) {
  EXPECT_EQ(without_maker("NVIDIA GeForce RTX 3090"), "GeForce RTX 3090");
  EXPECT_EQ(model_of("NVIDIA GeForce RTX 3090"), "RTX 3090");
  EXPECT_EQ(model_of("AMD Instinct MI210"), "Instinct MI210");
  EXPECT_EQ(model_of("Tesla T4"), "Tesla T4");
  EXPECT_EQ(model_of("Advanced Micro Devices, Inc. [AMD/ATI] Navi 23 [Radeon RX 6650 XT]"),
            "Radeon RX 6650 XT");
  EXPECT_EQ(model_of("Intel Corporation Alder Lake-P GT2 [Iris Xe Graphics]"), "Iris Xe Graphics");
  EXPECT_EQ(model_of("Advanced Micro Devices, Inc. [AMD/ATI] Cezanne"), "Cezanne");
  EXPECT_EQ(model_of("[]"), "[]");
  EXPECT_EQ(model_of("NVIDIA"), "NVIDIA") << "all that is known of it";
  EXPECT_EQ(model_of("Intelligent"), "Intelligent");
}

}  // namespace
}  // namespace berth
