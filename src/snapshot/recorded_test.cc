#include "snapshot/recorded.h"

#include <gtest/gtest.h>

#include <set>

#include "snapshot/fields.h"
#include "snapshot/sample_test.h"

namespace berth {
namespace {

TEST(Recorded, EachIsTheFieldWhoseKeyItHas) {
  const Snapshot host = full_snapshot();
  const Device& device = host.devices[0];
  for (const RecordedReading& one : recorded_readings) {
    const Field* field = find_field(one.key);
    ASSERT_NE(field, nullptr) << one.key;
    EXPECT_EQ(one.read(sample_of(device)), field->read(device, host)) << one.key;
    EXPECT_EQ(one.read_device(device), field->read(device, host)) << one.key;
  }
}

TEST(Recorded, EachIsAskedForByALookOfASampler) {
  const Wanted asked_for = Depth::state;
  for (const RecordedReading& one : recorded_readings) {
    Wanted wanted;
    one.want(wanted);
    ASSERT_NE(wanted, Wanted()) << one.key;
    EXPECT_EQ(wanted.without(asked_for), Wanted())
        << one.key << " would be recorded as not sampled";
    Wanted of_field;
    of_field.add(*find_field(one.key));
    EXPECT_EQ(wanted, of_field) << one.key;
  }
}

TEST(Recorded, NumbersInFilesAreTheirOwn) {
  std::set<int> numbers = {9, 10, 11, 12, 13, 32, 33};  // of details and processes
  for (const RecordedReading& one : recorded_readings) {
    if (one.history_number == 0) continue;
    EXPECT_TRUE(numbers.insert(one.history_number).second) << one.key;
  }
  EXPECT_EQ(recorded_readings[place_of_recorded("energy_millijoules")].history_number, 6);
}

TEST(Recorded, ACounterThatBeganAnewGrewByNothingThatIsKnown) {
  EXPECT_EQ(growth_in(Scalar(std::uint64_t{5}), Scalar(std::uint64_t{12})), 7);
  EXPECT_EQ(growth_in(Scalar(std::uint64_t{12}), Scalar(std::uint64_t{5})), std::nullopt);
  EXPECT_EQ(growth_in(Absent::failed, Scalar(std::uint64_t{5})), std::nullopt);
}

}  // namespace
}  // namespace berth
