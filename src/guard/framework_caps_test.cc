#include "guard/framework_caps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using namespace literals;

using Variables = std::vector<std::pair<std::string, std::string>>;

Variables of(const Variables& packages, const std::vector<std::string>& environment = {},
             CapTier tier = CapTier::watchdog) {
  return framework_variables(tier, {{10_GiB, 80_GiB}}, environment, packages);
}

TEST(FrameworkVariables, AreOnlyForVersionsThatKnowThem) {
  EXPECT_THAT(of({{"torch", "2.10.0+cu128"}}),
              ElementsAre(Pair("PYTORCH_ALLOC_CONF", "per_process_memory_fraction:0.1187")));
  EXPECT_THAT(of({{"torch", "2.9.1+cu128"}}), IsEmpty()) << "it would end at the unknown key";
  EXPECT_THAT(of({{"torch", "2.11.0a0+gitabc"}}), IsEmpty());
  EXPECT_THAT(of({{"jax", "0.9.0"}}), ElementsAre(Pair("XLA_CLIENT_MEM_FRACTION", "0.1187")));
  EXPECT_THAT(of({{"jax", "0.4.30"}}),
              ElementsAre(Pair("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.1187")));
  EXPECT_THAT(of({{"jax", "0.3.25"}}), IsEmpty()) << "a fraction of what is free";
  EXPECT_THAT(of({{"tensorflow", "2.16.1"}}),
              ElementsAre(Pair("TF_FORCE_GPU_ALLOW_GROWTH", "true")));
  EXPECT_THAT(of({{"numpy", "2.1.0"}}), IsEmpty());
}

TEST(FrameworkVariables, LeaveWhatTheUserChose) {
  const Variables all = {{"torch", "2.10.0"}, {"jax", "0.9.0"}, {"tensorflow", "2.16.1"}};
  EXPECT_THAT(of(all, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                       "XLA_PYTHON_CLIENT_MEM_FRACTION=.5", "TF_FORCE_GPU_ALLOW_GROWTH=false"}),
              IsEmpty());
  EXPECT_THAT(of({{"jax", "0.9.0"}}, {"XLA_PYTHON_CLIENT_PREALLOCATE=false"}), IsEmpty());
}

TEST(FrameworkVariables, AreFractionsOfTheSmallestShare) {
  EXPECT_THAT(framework_variables(CapTier::mps, {{40_GiB, 80_GiB}, {10_GiB, 40_GiB}}, {},
                                  {{"jax", "0.9.0"}}),
              ElementsAre(Pair("XLA_CLIENT_MEM_FRACTION", "0.2375")));
}

TEST(FrameworkVariables, AreNoFractionsWhereTheShareIsShownAsTheWhole) {
  const Variables all = {{"torch", "2.10.0"}, {"jax", "0.9.0"}, {"tensorflow", "2.16.1"}};
  for (const CapTier tier : {CapTier::shim, CapTier::kernel}) {
    EXPECT_THAT(of(all, {}, tier), ElementsAre(Pair("TF_FORCE_GPU_ALLOW_GROWTH", "true")));
  }
  EXPECT_THAT(of(all, {}, CapTier::none), IsEmpty());
}

}  // namespace
}  // namespace berth
