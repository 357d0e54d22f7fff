#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace berth::doctor
