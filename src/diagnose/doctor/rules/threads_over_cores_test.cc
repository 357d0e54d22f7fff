#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorThreadsOverCores, AskedForByAVariable) {
  Examined host = healthy();
  host.world.variables = {{"OMP_NUM_THREADS", "16"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.variables = {{"OMP_NUM_THREADS", "32"}};
  EXPECT_EQ(told(host),
            "warning threads_over_cores: OMP_NUM_THREADS=32; this process may use 16 CPUs");
  EXPECT_EQ(only(host).steps.at(0).command, "export OMP_NUM_THREADS=16");
}

TEST(DoctorThreadsOverCores, ThatTorchItselfSays) {
  Examined host = healthy();
  auto& threads = host.world.python->said.frameworks[0].threads;
  threads = 16;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.limits->cpus_allowed = std::uint64_t{8};
  host.world.variables = {{"OMP_NUM_THREADS", "16,4"}};
  EXPECT_EQ(only(host).rule, "threads_over_cores");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("16 threads"));
  threads = 15;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "less than twice as many";
  host.world.variables = {{"OMP_NUM_THREADS", "15"}};
  EXPECT_EQ(only(host).evidence.at(0).english(), "OMP_NUM_THREADS=15");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
  host.world.limits->cpu_quota = 0.5;
  host.world.variables = {{"OMP_NUM_THREADS", "1"}};
  threads = 1;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "no program has fewer";
}

}  // namespace
}  // namespace berth::doctor
