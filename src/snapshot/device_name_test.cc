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

}  // namespace
}  // namespace berth
