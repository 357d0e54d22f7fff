#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorDriverTooOld, NewerMinorOfTheSameMajorIsNoFindingAndAnotherMajorIs) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("535.104.05");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  EXPECT_THAT(told(host),
              HasSubstr("error driver_too_old: torch 2.9.1+cu130 was built for CUDA 13.0"));
  EXPECT_THAT(only(host).evidence.at(1).english(),
              HasSubstr("runs from 580 on (its toolkit came with 580.65.06)"));
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("'torch==2.9.*' --index-url https://download.pytorch.org/whl/cu128"));
}

TEST(DoctorDriverTooOld, ACompatLibcudaLeavesADoubt) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("535.104.05");
  host.world.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  EXPECT_TRUE(only(host).doubt.empty());
  host.world.libraries->found[0].path = "/usr/local/cuda/compat/libcuda.so.580.65.06";
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorDriverTooOld, ElevenPointZeroWantsItsOwnDriverAndTheFamilyALaterOne) {
  Examined host = healthy();
  host.snapshot.host.driver_version = std::string("450.51.06");
  host.world.libraries->nvcc_version = TwoPart{11, 0};
  host.world.python->frameworks = {torch_for("1.7.1+cu110", TwoPart{11, 0})};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.python->frameworks = {torch_for("1.8.0+cu111", TwoPart{11, 1})};
  EXPECT_THAT(rules_of(host), ElementsAre("driver_too_old"));
}

TEST(DoctorDriverTooOld, WhatIsNewerThanTheTableIsNoFinding) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("3.0.0+cu141", TwoPart{14, 1})};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
