#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorNcclSlowSettings, WaysThatAreSwitchedOff) {
  Examined host = healthy();
  host.facts.variables = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
  EXPECT_EQ(told(host), "hint nccl_slow_settings: NCCL_P2P_DISABLE=1; NCCL_SHM_DISABLE=1");
  EXPECT_FALSE(only(host).doubt.empty());
  host.snapshot.devices.pop_back();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "one GPU exchanges with nobody";
}

TEST(DoctorNcclSlowSettings, OnesThatCostNothing) {
  Examined host = healthy();
  host.facts.variables = {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.variables = {{"NCCL_IB_DISABLE", "1"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "there is no InfiniBand";
  host.facts.interfaces.push_back("ib0");
  EXPECT_EQ(told(host), "hint nccl_slow_settings: NCCL_IB_DISABLE=1");
}

TEST(DoctorNcclInterfaceMissing, NoneOfThatName) {
  Examined host = healthy();
  for (const char* gone : {"ib", "=eth", "=eth1,ib0:1"}) {
    host.facts.variables = {{"NCCL_SOCKET_IFNAME", gone}};
    EXPECT_EQ(told(host), std::string("error nccl_interface_missing: NCCL_SOCKET_IFNAME=") + gone);
  }
}

TEST(DoctorNcclInterfaceMissing, BeginningsNamesAndExceptionsThatFit) {
  Examined host = healthy();
  for (const char* fits : {"eth", "=eth0", "ib,eth0", "=eth0:1", "^lo,docker", ""}) {
    host.facts.variables = {{"NCCL_SOCKET_IFNAME", fits}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << fits;
  }
  host.facts.variables = {{"NCCL_SOCKET_IFNAME", "ib"}};
  host.facts.interfaces.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not looked at";
}

TEST(DoctorNcclOldNames, NamesThatPytorchHasGivenUp) {
  Examined host = healthy();
  host.facts.variables = {{"NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_EQ(told(host),
            "hint nccl_old_names: NCCL_BLOCKING_WAIT is called TORCH_NCCL_BLOCKING_WAIT now");
  EXPECT_EQ(
      commands_of(only(host)),
      "export TORCH_NCCL_BLOCKING_WAIT=\"$NCCL_BLOCKING_WAIT\" && unset NCCL_BLOCKING_WAIT\n");
}

TEST(DoctorNcclOldNames, BesideTheNewNameOrForAnOlderTorchTheyAreWell) {
  Examined host = healthy();
  host.facts.variables = {{"NCCL_BLOCKING_WAIT", "1"}, {"TORCH_NCCL_BLOCKING_WAIT", "1"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.variables = {{"NCCL_BLOCKING_WAIT", "1"}};
  host.facts.python->frameworks = {torch_for("2.1.2+cu121", TwoPart{12, 1})};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorLaunchBlocking, TheCpuWaitsForEveryKernel) {
  Examined host = healthy();
  host.facts.variables = {{"CUDA_LAUNCH_BLOCKING", "1"}};
  EXPECT_EQ(told(host), "hint launch_blocking: CUDA_LAUNCH_BLOCKING=1");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_LAUNCH_BLOCKING\n");
  host.facts.variables = {{"CUDA_LAUNCH_BLOCKING", "0"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMklThreadingLayer, IntelsBesideGnus) {
  Examined host = healthy();
  for (const char* fits : {"GNU", "gnu", "SEQUENTIAL", "TBB", ""}) {
    host.facts.variables = {{"MKL_THREADING_LAYER", fits}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << fits;
  }
  host.facts.variables = {{"MKL_THREADING_LAYER", "INTEL"}};
  EXPECT_EQ(told(host), "hint mkl_threading_layer: MKL_THREADING_LAYER=INTEL");
  EXPECT_EQ(commands_of(only(host)), "export MKL_THREADING_LAYER=GNU\n");
  EXPECT_FALSE(only(host).doubt.empty());
  host.facts.python->said.frameworks[0].warning =
      "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with "
      "libgomp-7c85b1e2.so.1 library.";
  EXPECT_EQ(named("mkl_threading_layer", host).severity, Severity::error);
  host.facts.variables = {{"MKL_THREADING_LAYER", "OPENMP"}};
  EXPECT_THAT(named("mkl_threading_layer", host).title.english(),
              testing::EndsWith("a word that MKL does not know"));
}

TEST(DoctorDuplicateOpenmp, SecondOneIsLetPass) {
  Examined host = healthy();
  for (const char* set : {"TRUE", "True", "1"}) {
    host.facts.variables = {{"KMP_DUPLICATE_LIB_OK", set}};
    EXPECT_EQ(told(host), std::string("hint duplicate_openmp: KMP_DUPLICATE_LIB_OK=") + set);
  }
  host.facts.variables = {{"KMP_DUPLICATE_LIB_OK", "FALSE"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
