#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/tested_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace berth::doctor
