#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorArchitectureMissing, CardThatTheBuildHasNoCodeFor) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  EXPECT_THAT(told(host), HasSubstr("error architecture_missing: its compute capability is 7.0; "
                                    "torch 2.9.1+cu130 has code for 7.5, "));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("cu128"));
  EXPECT_FALSE(only(host).doubt.empty());
  host.world.python->said.frameworks[0].architectures = {{7, 5}, {8, 0}};
  EXPECT_TRUE(only(host).doubt.empty()) << "it was asked";
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{8, 9};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "code for 8.0 runs on 8.9";
}

TEST(DoctorArchitectureMissing, AnOldCardBesideAGoodOneStopsNothing) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_capability = ComputeCapability{6, 1};
  host.snapshot.devices[1].compute_capability = ComputeCapability{12, 0};
  host.world.python->frameworks = {torch_for("2.9.1+cu128", TwoPart{12, 8})};
  EXPECT_THAT(told(host), HasSubstr("hint architecture_missing: its compute capability is 6.1"));
}

TEST(DoctorArchitectureMissing, PtxRunsOnCardsNewerThanTheBuild) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{12, 0};
  host.world.python->said.frameworks[0].architectures = {{9, 0}};
  EXPECT_THAT(rules_of(host), Contains("architecture_missing"));
  host.world.python->said.frameworks[0].has_ptx = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorArchitectureMissing, BuildOfSomebodysOwnIsNotJudgedByTheTable) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.0a0+nv25.10", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
