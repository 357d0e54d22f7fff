#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/tested_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorGpuNotTested, ATakenCardIsNamedWithHowToTestItAllTheSame) {
  Examined host = tested_host();
  host.gpu_proofs[0] = {
      .device = host.gpu_proofs[0].device, .left_out = "leased", .is_taken = true};
  EXPECT_EQ(told(host), "hint gpu_not_tested: leased");
  EXPECT_EQ(commands_of(only(host)), "berth doctor --gpu-test --force -i 0\n");
  host.gpu_proofs[0].is_taken = false;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody is on it";
}

}  // namespace
}  // namespace berth::doctor
