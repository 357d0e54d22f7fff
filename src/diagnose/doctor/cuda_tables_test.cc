// The dated tables at their edges.

#include "diagnose/doctor/cuda_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CudaTables, OldestDriverOfEachFamilyIsOldEnoughAndTheOneBeforeIsNot) {
  struct Case {
    TwoPart cuda;
    const char* oldest;
    const char* before;
  };
  for (const Case& one : {Case{{11, 0}, "450.36.06", "450.36.05"},
                          {{11, 1}, "450.80.02", "450.80.01"},
                          {{11, 8}, "450.80.02", "450.51.06"},
                          {{12, 0}, "525.60.13", "525.60.12"},
                          {{12, 9}, "525.60.13", "520.61.05"},
                          {{13, 0}, "580", "579.99.99"},
                          {{13, 1}, "580.65.06", "575.51.03"},
                          {{10, 2}, "440.33", "440.32"}}) {
    const auto needs = driver_needs(one.cuda);
    ASSERT_TRUE(needs) << one.cuda.text();
    EXPECT_FALSE(is_older_version(one.oldest, needs->runs)) << one.cuda.text();
    EXPECT_TRUE(is_older_version(one.before, needs->runs)) << one.cuda.text();
    EXPECT_FALSE(is_older_version(needs->own, needs->runs)) << one.cuda.text();
  }
  for (const TwoPart unknown : {TwoPart{9, 2}, {12, 7}, {13, 2}, {14, 0}}) {
    EXPECT_FALSE(driver_needs(unknown)) << unknown.text();
  }
}

TEST(CudaTables, ArchitecturesOfOfficialBuildsBeginAndEndWithTheirCuda) {
  const ComputeCapability pascal{6, 0};
  const ComputeCapability volta{7, 0};
  const ComputeCapability turing{7, 5};
  const ComputeCapability blackwell{12, 0};
  for (const TwoPart cuda : {TwoPart{11, 8}, {12, 1}, {12, 4}, {12, 6}}) {
    EXPECT_THAT(torch_architectures({2, 6}, cuda), Contains(pascal)) << cuda.text();
    EXPECT_THAT(torch_architectures({2, 6}, cuda), Not(Contains(blackwell))) << cuda.text();
  }
  EXPECT_THAT(torch_architectures({2, 7}, {12, 8}), Not(Contains(volta)));
  EXPECT_THAT(torch_architectures({2, 8}, {12, 8}), Contains(volta));
  EXPECT_THAT(torch_architectures({2, 8}, {12, 9}), Contains(blackwell));
  EXPECT_THAT(torch_architectures({2, 9}, {13, 0}), Not(Contains(volta)));
  EXPECT_THAT(torch_architectures({2, 9}, {13, 0}), Contains(turing));
  EXPECT_THAT(torch_architectures({1, 13}, {11, 7}), IsEmpty()) << "not in the table";
}

TEST(CudaTables, EveryBuildOfTheTableHasArchitecturesAndPythonsInOrder) {
  for (const TorchBuild& build : torch_builds()) {
    EXPECT_THAT(torch_architectures(build.torch, build.cuda), Not(IsEmpty()))
        << build.torch.text() << " cu" << build.cuda.text();
    EXPECT_LE(build.python_least, build.python_most) << build.torch.text();
  }
}

}  // namespace
}  // namespace berth::doctor
