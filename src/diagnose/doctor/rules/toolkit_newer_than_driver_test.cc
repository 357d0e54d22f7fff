#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorToolkitNewerThanDriver, ToolkitOfANewerMajor) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("550.54.14");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "12.8 runs with every driver of CUDA 12";
  host.world.libraries->nvcc_version = TwoPart{13, 0};
  EXPECT_EQ(told(host),
            "warning toolkit_newer_than_driver: /usr/local/cuda/bin/nvcc is of CUDA 13.0; the "
            "driver is 550.54.14; CUDA 13.0 runs from 580 on (its toolkit came with 580.65.06)");
}

TEST(DoctorToolkitNewerThanDriver, WhatIsNewerThanTheTableIsNoFinding) {
  Examined host = healthy();
  host.world.libraries->nvcc_version = TwoPart{14, 1};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
