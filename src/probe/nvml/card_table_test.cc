#include "probe/nvml/card_table.h"

#include <gtest/gtest.h>

#include "cards/find.h"

namespace berth::nvml {
namespace {

TEST(CardTable, CoresPerMultiprocessorTimesTheirNumberIsTheProduct) {
  // Multiprocessors as the makers' papers list them.
  EXPECT_EQ(28 * *cores_per_multiprocessor({6, 1}), cores_of_product("GeForce GTX 1080 Ti"));
  EXPECT_EQ(56 * *cores_per_multiprocessor({6, 0}), cores_of_product("Tesla P100-PCIE-16GB"));
  EXPECT_EQ(80 * *cores_per_multiprocessor({7, 0}), cores_of_product("Tesla V100-SXM2-16GB"));
  EXPECT_EQ(68 * *cores_per_multiprocessor({7, 5}), cores_of_product("GeForce RTX 2080 Ti"));
  EXPECT_EQ(108 * *cores_per_multiprocessor({8, 0}), cores_of_product("A100-SXM4-40GB"));
  EXPECT_EQ(82 * *cores_per_multiprocessor({8, 6}), cores_of_product("GeForce RTX 3090"));
  EXPECT_EQ(132 * *cores_per_multiprocessor({9, 0}), cores_of_product("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(114 * *cores_per_multiprocessor({9, 0}), cores_of_product("NVIDIA H100 PCIe"));
}

TEST(CardTable, NamesArchitecturesByCapabilityAndByNumber) {
  EXPECT_EQ(architecture_name(ComputeCapability{8, 9}), "Ada Lovelace");
  EXPECT_EQ(architecture_name(ComputeCapability{7, 0}), "Volta");
  EXPECT_EQ(architecture_name(ComputeCapability{12, 1}), "Blackwell");
  EXPECT_EQ(architecture_name(ComputeCapability{99, 0}), std::nullopt);
  EXPECT_EQ(architecture_name(ComputeCapability{2, 1}), std::nullopt);
  EXPECT_EQ(architecture_name(9U), "Hopper");
  EXPECT_EQ(architecture_name(0xFFFFFFFFU), std::nullopt);
}

TEST(CardTable, MemoryBandwidthIsThatOfTheDataSheets) {
  EXPECT_EQ(peak_memory_bandwidth(5120, Megahertz(1215)).count(), 1'555'200'000'000U);
  EXPECT_EQ(peak_memory_bandwidth(384, Megahertz(9751)).count(), 936'096'000'000U);
  EXPECT_EQ(peak_memory_bandwidth(5120, Megahertz(2619)).count(), 3'352'320'000'000U);
}

}  // namespace
}  // namespace berth::nvml
