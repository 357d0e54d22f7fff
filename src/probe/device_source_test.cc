#include "probe/device_source.h"

#include <gtest/gtest.h>

#include "snapshot/sample_test.h"

namespace berth {
namespace {

TEST(OnlyFacts, OfALostCardItsIdentityAndFactsStay) {
  Device device = full_device("GPU-1");
  device.serial = Absent::no_permission;
  const Device kept = only_facts(device, Absent::failed);
  EXPECT_EQ(kept.id, device.id);
  EXPECT_EQ(kept.runtime_index, device.runtime_index);
  EXPECT_EQ(kept.name, device.name);
  EXPECT_EQ(kept.serial, Reading<std::string>(Absent::failed));
  const Snapshot nobody;
  for (const Field* field : stored_fields()) {
    const bool stays = field->is_fact && field->key != "serial";
    const Cell expected = stays ? field->read(device, nobody) : Cell(Absent::failed);
    EXPECT_EQ(field->read(kept, nobody), expected) << field->key;
  }
  EXPECT_EQ(kept.utilization_history.why(), Absent::failed);
  EXPECT_EQ(kept.details, Details());
  EXPECT_EQ(kept.lists, Lists());
}

}  // namespace
}  // namespace berth
