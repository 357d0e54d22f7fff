#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(DoctorCudaRefuses, WithACodeThatIsExplained) {
  Examined host = healthy();
  host.facts.cuda = CudaAnswer{.problem = "cuInit failed with error 802", .code = 802};
  EXPECT_THAT(told(host), HasSubstr("error cuda_refuses: cuInit failed with error 802; "));
  EXPECT_THAT(only(host).evidence.at(1).english(), HasSubstr("NVSwitch"));
}

TEST(DoctorCudaRefuses, WhatIsSlowIsNotBroken) {
  Examined host = healthy();
  host.facts.cuda = CudaAnswer{.problem = "libcuda did not answer in time", .took_too_long = true};
  EXPECT_EQ(told(host), "warning cuda_refuses: libcuda did not answer in time");
}

TEST(DoctorCudaRefuses, EachCodeHasAStepOfItsOwnOrTheKernelLog) {
  Examined host = healthy();
  for (const int code : {2, 3, 34, 35, 46, 100, 101, 304, 802, 803, 804, 805, 999}) {
    host.facts.cuda = CudaAnswer{.problem = "cuInit failed", .code = code};
    EXPECT_THAT(only(host).evidence, SizeIs(2)) << code;
  }
  for (const int code : {1, 719, 99'999}) {
    host.facts.cuda = CudaAnswer{.problem = "cuInit failed", .code = code};
    EXPECT_THAT(commands_of(only(host)), HasSubstr("dmesg")) << code;
  }
  host.facts.cuda = CudaAnswer{.problem = "libcuda crashed (signal 11)"};
  EXPECT_THAT(commands_of(only(host)), HasSubstr("dmesg"));
}

TEST(DoctorCudaRefuses, LibraryThatIsNotThereIsNamedAsSuch) {
  Examined host = healthy();
  host.facts.cuda = CudaAnswer{.problem = "libcuda.so.1: cannot open it", .is_absent = true};
  EXPECT_EQ(told(host), "error libcuda_missing: libcuda.so.1: cannot open it");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("libcuda.so.1"));
}

TEST(DoctorCudaRefuses, ListThatHidesAllIsWhyThereIsNoDevice) {
  Examined host = healthy();
  host.facts.cuda = CudaAnswer{.problem = "cuInit failed with error 100", .code = 100};
  host.visible = VisibleList{.value = ""};
  EXPECT_THAT(rules_of(host), ElementsAre("visible_devices_none"));
}

}  // namespace
}  // namespace berth::doctor
