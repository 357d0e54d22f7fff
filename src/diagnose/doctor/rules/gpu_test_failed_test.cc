#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/tested_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(DoctorGpuTestFailed, RefusalsAndSilenceAreErrors) {
  Examined host = tested_host_where(0, compute::ProofEnd::failed, "CUDA_ERROR_UNKNOWN (999)");
  EXPECT_THAT(told(host), StartsWith("error gpu_test_failed: GPU 0, "));
  EXPECT_THAT(told(host), HasSubstr("CUDA_ERROR_UNKNOWN (999)"));
  host = tested_host_where(8, compute::ProofEnd::unfinished, "ended after 20 s");
  EXPECT_THAT(told(host), StartsWith("error gpu_test_unfinished: GPU 0, "));
  EXPECT_THAT(told(host), HasSubstr("ended after 20 s"));
}

TEST(DoctorGpuTestFailed, ATestWhoseStepsAllPassedHasNotFailed) {
  EXPECT_THAT(rules_of(tested_host()), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
