#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorToolkitNewerThanDriver, ToolkitOfANewerMajor) {
  Examined host = healthy();
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("550.54.14");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "12.8 runs with every driver of CUDA 12";
  host.facts.libraries->nvcc_version = TwoPart{13, 0};
  EXPECT_EQ(told(host),
            "warning toolkit_newer_than_driver: /usr/local/cuda/bin/nvcc is of CUDA 13.0; the "
            "driver is 550.54.14; CUDA 13.0 runs from 580 on (its toolkit came with 580.65.06)");
}

TEST(DoctorToolkitNewerThanDriver, WhatIsNewerThanTheTableIsNoFinding) {
  Examined host = healthy();
  host.facts.libraries->nvcc_version = TwoPart{14, 1};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorCudaHomeMissing, FolderThatIsNotThere) {
  Examined host = healthy();
  host.facts.libraries->home = CudaHome{.variable = "CUDA_HOME", .folder = "/opt/gone"};
  EXPECT_EQ(told(host), "hint cuda_home_missing: CUDA_HOME is /opt/gone");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_HOME\n");
  host.facts.libraries->home->is_there = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorToolkitOfAnotherMajor, ThanTorchsStopsExtensionsAlone) {
  Examined host = healthy();
  Libraries& libraries = *host.facts.libraries;
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

TEST(DoctorToolkitsDiffer, NvccAndTheFolderOfDifferentMajors) {
  Examined host = healthy();
  Libraries& libraries = *host.facts.libraries;
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
