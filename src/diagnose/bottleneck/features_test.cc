#include "diagnose/bottleneck/features.h"

#include <gtest/gtest.h>

namespace berth::bottleneck {
namespace {

TEST(Features, APcieLinkCarriesByGenerationAndWidth) {
  const auto link = [](std::uint64_t generation, std::uint64_t width) {
    return DeviceFacts{.pcie_generation = generation, .pcie_width = width};
  };
  EXPECT_NEAR(*pcie_capacity(link(3, 16)), 15.76e9, 1e7);
  EXPECT_NEAR(*pcie_capacity(link(5, 8)), 31.5e9, 1e8);
  EXPECT_FALSE(pcie_capacity(link(99, 16)));
  EXPECT_FALSE(pcie_capacity(DeviceFacts{}));
}

}  // namespace
}  // namespace berth::bottleneck
