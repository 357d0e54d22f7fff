#include "probe/amdgpu/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::amdgpu {
namespace {

using testing::Optional;

TEST(AmdgpuTexts, APlaceOfTheKfdIsACardAndAPartition) {
  const NodePlace place = place_of(parse_properties("location_id 34054\ndomain 1\nname x y\n"));
  EXPECT_EQ(place.card, "00000001:85:00.0");
  EXPECT_EQ(place.function, 6U);
  EXPECT_EQ(value_of({}, "simd_count"), 0U);
}

TEST(AmdgpuTexts, ErrorCountsNeedOneOfTheTwo) {
  const auto counts = parse_error_counts("ue: 2\nce: 3\nde: 9\n");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->uncorrected, 2U);
  EXPECT_EQ(counts->corrected, 3U);
  EXPECT_FALSE(parse_error_counts("Query currently inaccessible\n"));
  EXPECT_FALSE(parse_error_counts("ue: much\n"));
}

TEST(AmdgpuTexts, BadPagesAreKeptFromUseOrWillBe) {
  const BadPages pages = parse_bad_pages(
      "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : "
      "F\n\nx\n");
  EXPECT_EQ(pages.retired, 1U);
  EXPECT_EQ(pages.pending, 2U);
}

TEST(AmdgpuTexts, LevelsMayBeOutOfOrder) {
  EXPECT_THAT(highest_level("0: 500Mhz\n1: 2304Mhz *\n2: 1100Mhz\n"), Optional(Megahertz{2304}));
  EXPECT_FALSE(highest_level("0: 2.5GT/s, x8 *\n"));
  EXPECT_FALSE(highest_level(""));
}

TEST(AmdgpuTexts, ChipsHaveTheirNames) {
  EXPECT_EQ(chip_name(90402), "gfx942");
  EXPECT_EQ(chip_name(90010), "gfx90a");
  EXPECT_EQ(chip_name(110001), "gfx1101");
  EXPECT_EQ(chip_name(0), "");
}

}  // namespace
}  // namespace berth::amdgpu
