#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorQuotaBelowCores, LibrariesCountTheCpusThatTheySee) {
  Examined host = healthy();
  host.world.limits->cpu_quota = 2.0;
  EXPECT_EQ(told(host),
            "hint quota_below_cores: the control group's quota is 2 CPUs; this process sees 16 "
            "CPUs, and OMP_NUM_THREADS is not set");
  EXPECT_EQ(commands_of(only(host)), "export OMP_NUM_THREADS=2\n");
  host.world.python->said.frameworks[0].threads = 15;
  EXPECT_EQ(only(host).rule, "quota_below_cores") << "and no second one for torch's threads";
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
}

TEST(DoctorQuotaBelowCores, MoreThanHalfOfThemOrAVariableIsWell) {
  Examined host = healthy();
  host.world.limits->cpu_quota = 9.0;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.limits->cpu_quota = 2.0;
  host.world.variables = {{"OMP_NUM_THREADS", "2"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
