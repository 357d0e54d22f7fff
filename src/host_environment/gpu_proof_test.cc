#include "host_environment/gpu_proof.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using compute::ProofEnd;
using compute::ProofOf;

TEST(GpuProof, AStepIsToldTwiceAndCountsOnce) {
  const auto steps = parse_proof(
      "step\topening\tunfinished\t\t\t\nstep\topening\tpassed\t\t\tcuda:0\n"
      "step\tmultiply\tunfinished\t\t\t\nstep\tmultiply\tpassed\t1.5e+12\t\t64 × 64\n"
      "step\tcopy_to_peer\tunfinished\t\t3\t\nstep\tcopy_to_peer\twrong\t\t3\tword 5 of 10\n",
      "");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[1], (compute::ProofStep{
                          .what = ProofOf::multiply, .per_second = 1.5e12, .detail = "64 × 64"}));
  EXPECT_EQ(steps[2].peer, "3");
  EXPECT_EQ(steps[2].end, ProofEnd::wrong);
}

TEST(GpuProof, WhatBeganAndWasNotDoneIsUnfinished) {
  const auto steps =
      parse_proof("step\topening\tpassed\t\t\tcuda:0\nstep\tmultiply\tunfinished\t\t\t\nstep\tmul",
                  "no answer within 20 s");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].what, ProofOf::multiply);
  EXPECT_EQ(steps[1].end, ProofEnd::unfinished);
  EXPECT_EQ(steps[1].detail, "no answer within 20 s");
}

TEST(GpuProof, AProcessThatSaidNothingIsUnfinishedToo) {
  for (const char* text : {"", "\n\n", "rubbish\tmultiply\n", "step\tno_such\tpassed\t\t\t\n"}) {
    const auto steps = parse_proof(text, "it crashed");
    ASSERT_EQ(steps.size(), 1U) << text;
    EXPECT_EQ(steps[0].end, ProofEnd::unfinished) << text;
    EXPECT_EQ(steps[0].detail, "it crashed") << text;
  }
}

TEST(GpuProof, ABadEndAfterTheLastStepIsSaid) {
  const auto steps = parse_proof("step\topening\tpassed\t\t\tcuda:0\n", "signal 11");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].what, ProofOf::closing);
  EXPECT_EQ(steps[1].end, ProofEnd::unfinished);
  EXPECT_EQ(steps[1].detail, "signal 11");
}

}  // namespace
}  // namespace berth
