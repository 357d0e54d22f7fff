#include "base/units.h"

#include <gtest/gtest.h>

#include "base/reading.h"

namespace berth {
namespace {

using namespace literals;

TEST(Minus, IsNothingBelowZero) {
  EXPECT_EQ(minus(3_GiB, 1_GiB), 2_GiB);
  EXPECT_EQ(minus(1_GiB, 1_GiB), 0_B);
  EXPECT_EQ(minus(1_GiB, 3_GiB), std::nullopt);
}
TEST(Quantity, AddsAndCompares) {
  Bytes sum = 1_MiB;
  sum += 1_MiB;
  EXPECT_EQ(sum, 2_MiB);
  EXPECT_LT(1_MiB, 1_GiB);
  EXPECT_EQ(2_watts, Milliwatts{2000});
}
TEST(Reading, IsNotSampledUntilTold) {
  const Reading<Bytes> reading;
  EXPECT_FALSE(reading.has_value());
  EXPECT_EQ(reading.why(), Absent::not_sampled);
}
TEST(Reading, ComparesReasonsOnlyWithoutValues) {
  EXPECT_EQ(Reading<Bytes>(1_B), Reading<Bytes>(1_B));
  EXPECT_NE(Reading<Bytes>(0_B), Reading<Bytes>(Absent::failed));
  EXPECT_NE(Reading<Bytes>(Absent::unsupported), Reading<Bytes>(Absent::failed));
}
TEST(Absent, NamesAreReadBack) {
  for (const Absent why :
       {Absent::unsupported, Absent::no_permission, Absent::failed, Absent::not_sampled}) {
    EXPECT_EQ(absent_from_name(name_of(why)), why);
  }
  EXPECT_EQ(absent_from_name("N/A"), std::nullopt);
}

}  // namespace
}  // namespace berth
