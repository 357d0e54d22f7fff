// What a test of the cards found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using compute::ProofEnd;
using compute::ProofOf;

/// Card 0 of the healthy host, tested: every figure as an H100 has it.
Examined tested_host() {
  Examined host = healthy();
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = std::uint64_t{16896};
  card.clock_sm_max = Megahertz(1980);
  card.memory_bandwidth = BytesPerSecond(3'352'320'000'000);
  card.pcie_generation_max = std::uint64_t{5};
  card.pcie_width_max = std::uint64_t{16};
  host.gpu_proofs = {{.device = card.id,
                      .steps = {{.what = ProofOf::opening, .detail = "cuda:0"},
                                {.what = ProofOf::multiply, .per_second = 20e12},
                                {.what = ProofOf::multiply_cpu, .per_second = 20e9},
                                {.what = ProofOf::copy_inside, .per_second = 2.6e12},
                                {.what = ProofOf::copy_in, .per_second = 9e9},
                                {.what = ProofOf::copy_out, .per_second = 9e9},
                                {.what = ProofOf::copy_in_pinned, .per_second = 55e9},
                                {.what = ProofOf::copy_out_pinned, .per_second = 55e9},
                                {.what = ProofOf::copy_to_peer, .per_second = 20e9, .peer = "1"}},
                      .cpu_threads = 16}};
  return host;
}

TEST(DoctorGpuTest, ACardThatComputesAsItShouldHasNoFinding) {
  EXPECT_THAT(rules_of(tested_host()), IsEmpty());
}

TEST(DoctorGpuTest, ASlowStepIsAWarningThatSaysWhatItCouldBe) {
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
    const Findings findings = findings_of(host);
    ASSERT_EQ(findings.size(), 1U) << one.step;
    EXPECT_EQ(findings[0].rule, "gpu_slow");
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_FALSE(findings[0].doubt.empty());
    host.gpu_proofs[0].steps[one.step].per_second = one.fast;
    EXPECT_THAT(findings_of(host), IsEmpty()) << one.step;
  }
}

TEST(DoctorGpuTest, ACardOfWhichTheBestIsNotKnownIsNotCalledSlow) {
  Examined host = tested_host();
  for (compute::ProofStep& step : host.gpu_proofs[0].steps) step.per_second = 1.0;
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = Absent::unsupported;
  card.memory_bandwidth = Absent::unsupported;
  card.pcie_width_max = Absent::failed;
  EXPECT_THAT(findings_of(host), IsEmpty());
}

TEST(DoctorGpuTest, WrongResultsRefusalsAndSilenceAreErrors) {
  struct Case {
    std::size_t step;
    ProofEnd end;
    const char* rule;
  };
  for (const Case& one : {Case{1, ProofEnd::wrong, "gpu_computes_wrong"},
                          {2, ProofEnd::wrong, "cpu_computes_wrong"},
                          {4, ProofEnd::wrong, "gpu_copies_wrong"},
                          {0, ProofEnd::failed, "gpu_test_failed"},
                          {8, ProofEnd::unfinished, "gpu_test_unfinished"}}) {
    Examined host = tested_host();
    compute::ProofStep& step = host.gpu_proofs[0].steps[one.step];
    step = {.what = step.what, .end = one.end, .detail = "row 7 of 64", .peer = step.peer};
    const Findings findings = findings_of(host);
    ASSERT_EQ(findings.size(), 1U) << one.rule;
    EXPECT_EQ(findings[0].rule, one.rule);
    EXPECT_EQ(findings[0].severity, Severity::error);
    EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("row 7 of 64"));
  }
}

TEST(DoctorGpuTest, ATakenCardIsNamedWithHowToTestItAllTheSame) {
  Examined host = tested_host();
  host.gpu_proofs[0] = {
      .device = host.gpu_proofs[0].device, .left_out = "leased", .is_taken = true};
  const Findings findings = findings_of(host);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "gpu_not_tested");
  EXPECT_EQ(findings[0].steps[0].command, "berth doctor --gpu-test --force -i 0");
  host.gpu_proofs[0].is_taken = false;
  EXPECT_THAT(findings_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
