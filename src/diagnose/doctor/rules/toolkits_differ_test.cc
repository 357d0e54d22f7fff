#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorToolkitsDiffer, NvccAndTheFolderOfDifferentMajors) {
  Examined host = healthy();
  Libraries& libraries = *host.world.libraries;
  libraries.nvcc_in_path = true;
  libraries.toolkit = "/usr/local/cuda-12.2";
  libraries.toolkit_version = TwoPart{12, 2};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another minor version is well";
  libraries.toolkit_version = TwoPart{11, 8};
  EXPECT_EQ(told(host),
            "hint toolkits_differ: /usr/local/cuda/bin/nvcc is of CUDA 12.8; /usr/local/cuda-12.2 "
            "is of CUDA 11.8");
  libraries.home = CudaHome{.variable = "CUDA_HOME",
                            .folder = "/opt/cuda-12.8",
                            .is_there = true,
                            .version = libraries.nvcc_version};
  EXPECT_THAT(rules_of(host), Not(Contains("toolkits_differ"))) << "a choice of both alike";
}

}  // namespace
}  // namespace berth::doctor
