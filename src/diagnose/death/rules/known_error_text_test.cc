#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KnownErrorText, IsTheCauseWithItsLineAndWhatToTry) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log("RuntimeError: CUDA error: an illegal memory access was encountered\n");
  const Finding found = first_cause({.run = run, .log = &log});
  EXPECT_EQ(found.rule, "illegal_address");
  EXPECT_THAT(evidence_in(found), HasSubstr("an illegal memory access was encountered"));
  EXPECT_THAT(steps_in(found), HasSubstr("CUDA_LAUNCH_BLOCKING=1"));
}

TEST(KnownErrorText, TheCommandsBatchGoesIntoTheAnswer) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total "
      "capacity of 80.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process "
      "has 79.00 GiB memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and "
      "1.00 GiB is reserved by PyTorch but unallocated.\n");
  const Findings findings = explain_death({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].steps[0].what.english(), HasSubstr("a batch of 64 cannot fit"));
  EXPECT_THAT(findings[0].evidence.back().english(), HasSubstr("promised 20.0 GiB"));
}

TEST(KnownErrorText, ALogThatNamesNoErrorOfTheCatalogueGivesNoCause) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log("epoch 3: loss 0.41\nKeyError: 'x'\n");
  EXPECT_THAT(causes_of({.run = run, .log = &log}), ElementsAre("last_lines"));
}

}  // namespace
}  // namespace berth
