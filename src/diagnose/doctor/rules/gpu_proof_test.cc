#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentence.h"
#include "diagnose/doctor/tested_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(DoctorGpuWrong, OfTheCardItsCopiesOrTheCpu) {
  struct Case {
    std::size_t step;
    const char* told;
    const char* step_of;
  };
  for (const Case& one : {Case{1, "error gpu_computes_wrong: GPU 0, ", "berth health"},
                          {2, "error cpu_computes_wrong: GPU 0, ", "dmesg"},
                          {4, "error gpu_copies_wrong: GPU 0, ", "berth health"}}) {
    const Examined host = tested_host_where(one.step, compute::ProofEnd::wrong, "row 7 of 64");
    EXPECT_THAT(told(host), StartsWith(one.told));
    EXPECT_THAT(told(host), HasSubstr("row 7 of 64"));
    EXPECT_THAT(commands_of(only(host)), HasSubstr(one.step_of));
  }
}

TEST(DoctorGpuWrong, ACardThatComputesAsItShouldHasNoFinding) {
  EXPECT_THAT(rules_of(tested_host()), IsEmpty());
}

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

TEST(DoctorGpuSlow, ASlowStepIsAWarningThatSaysWhatItCouldBe) {
  struct Case {
    std::size_t step;
    double slow;
    double fast;
  };
  // Just below and just above a tenth of the cores, half of the memory, half of the link.
  for (const Case& one :
       {Case{1, 6.6e12, 6.8e12}, {3, 1.67e12, 1.69e12}, {6, 31e9, 32e9}, {7, 31e9, 32e9}}) {
    Examined host = tested_host();
    host.gpu_proofs[0].steps[one.step].per_second = one.slow;
    EXPECT_THAT(told(host), StartsWith("warning gpu_slow: GPU 0, ")) << one.step;
    EXPECT_THAT(told(host), HasSubstr("that it could be at best")) << one.step;
    EXPECT_FALSE(only(host).doubt.empty());
    host.gpu_proofs[0].steps[one.step].per_second = one.fast;
    EXPECT_THAT(rules_of(host), IsEmpty()) << one.step;
  }
}

TEST(DoctorGpuSlow, ACardOfWhichTheBestIsNotKnownIsNotCalledSlow) {
  Examined host = tested_host();
  for (compute::ProofStep& step : host.gpu_proofs[0].steps) step.per_second = 1.0;
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = Absent::unsupported;
  card.memory_bandwidth = Absent::unsupported;
  card.pcie_width_max = Absent::failed;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorGpuNotTested, ATakenCardIsNamedWithHowToTestItAllTheSame) {
  Examined host = tested_host();
  host.gpu_proofs[0] = {
      .device = host.gpu_proofs[0].device, .left_out = Sentence("leased"), .is_taken = true};
  EXPECT_EQ(told(host), "hint gpu_not_tested: leased");
  EXPECT_EQ(commands_of(only(host)), "berth doctor --gpu-test --force -i 0\n");
  host.gpu_proofs[0].is_taken = false;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody is on it";
}

}  // namespace
}  // namespace berth::doctor
