#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorFrameworkBlind, SeesNothingAlthoughItShould) {
  Examined host = healthy();
  host.world.python->said.frameworks[0].sees_gpu = false;
  host.world.python->said.frameworks[0].warning = "CUDA initialization: unknown error";
  EXPECT_EQ(told(host),
            "error framework_blind: torch.cuda.is_available() says there is none (version 2.9.1, "
            "asked in a process of its own); it wrote: CUDA initialization: unknown error");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("import torch; torch.cuda.init()"));
  host.world.python->said.frameworks[0].warning = "asked with api_key=hunter2";
  EXPECT_THAT(told(host), ::testing::EndsWith("it wrote: asked with api_key=***"));
  host.world.python->said.frameworks[0].sees_gpu.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it did not say";
}

TEST(DoctorFrameworkBlind, WhatAnotherRuleTellsBetterIsLeftToIt) {
  Examined host = healthy();
  host.world.python->said.frameworks[0].sees_gpu = false;
  host.visible = VisibleList{.value = ""};
  EXPECT_THAT(rules_of(host), ElementsAre("visible_devices_none")) << "that is why";
  host.visible = VisibleList{.value = "1", .unclear = "on different cards"};
  EXPECT_THAT(rules_of(host), ::testing::Contains("framework_blind")) << "1 is one of them";
  host.visible.reset();
  host.world.cuda->problem = "cuInit failed with error 802";
  EXPECT_THAT(rules_of(host), ElementsAre("cuda_refuses")) << "that is why";
}

}  // namespace
}  // namespace berth::doctor
