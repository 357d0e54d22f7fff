#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorToolkitOfAnotherMajor, ThanTorchsStopsExtensionsAlone) {
  Examined host = healthy();
  Libraries& libraries = *host.world.libraries;
  libraries.nvcc_version = TwoPart{11, 8};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody chose it: it is not in PATH";
  libraries.nvcc_in_path = true;
  EXPECT_EQ(told(host),
            "hint toolkit_of_another_major: torch 2.9.1+cu128 was built for CUDA 12.8 "
            "(torch/version.py); /usr/local/cuda/bin/nvcc is of CUDA 11.8");
  libraries.nvcc_version = TwoPart{12, 9};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another minor version is well";
  libraries.nvcc_version = TwoPart{11, 8};
  libraries.home =
      CudaHome{.variable = "CUDA_HOME", .folder = "/opt/c", .is_there = true, .version = {{12, 4}}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "CUDA_HOME goes before PATH";
  libraries.home->version = TwoPart{11, 8};
  EXPECT_THAT(told(host), HasSubstr("CUDA_HOME=/opt/c is of CUDA 11.8"));
}

}  // namespace
}  // namespace berth::doctor
