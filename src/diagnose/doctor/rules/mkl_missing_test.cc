#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorMklMissing, TorchWithoutItWhereTheCpuIsAllThereIs) {
  Examined host = healthy();
  host.world.limits->cpu_vendor = std::string("GenuineIntel");
  host.world.python->said.frameworks[0].has_mkl = false;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it computes on the GPU";
  host.world.python->said.frameworks[0].sees_gpu.reset();
  EXPECT_EQ(told(host), "hint mkl_missing: torch 2.9.1 says so, and the CPU is Intel's");
  host.world.limits->cpu_vendor = std::string("AuthenticAMD");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
