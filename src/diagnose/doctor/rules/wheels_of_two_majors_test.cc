#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorWheelsOfTwoMajors, SamePackageForTwoGenerations) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu11", "8.5"}, {"nvidia_cublas_cu12", "12.1"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->packages.emplace_back("nvidia_cudnn_cu12", "9.1");
  EXPECT_EQ(told(host),
            "warning wheels_of_two_majors: nvidia_cudnn_cu11 8.5 and nvidia_cudnn_cu12 9.1 lie in "
            "the same folder");
  host.world.python->packages = {{"nvidia_nccl_cu13", "2.28"}, {"nvidia_nccl_cu11", "2.19"}};
  EXPECT_EQ(told(host),
            "warning wheels_of_two_majors: nvidia_nccl_cu11 2.19 and nvidia_nccl_cu13 2.28 lie in "
            "the same folder");
}

}  // namespace
}  // namespace berth::doctor
