#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorShadowedModule, FileThatHidesAPackage) {
  Examined host = healthy();
  host.world.shadowing = {"torch.py"};
  EXPECT_EQ(told(host), "warning shadowed_module: there is torch.py in /home/ada");
  EXPECT_EQ(commands_of(only(host)), "mv torch.py my_torch.py\n");
  host.world.shadowing.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
