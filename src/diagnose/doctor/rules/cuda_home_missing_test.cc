#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorCudaHomeMissing, FolderThatIsNotThere) {
  Examined host = healthy();
  host.world.libraries->home = CudaHome{.variable = "CUDA_HOME", .folder = "/opt/gone"};
  EXPECT_EQ(told(host), "hint cuda_home_missing: CUDA_HOME is /opt/gone");
  EXPECT_EQ(commands_of(only(host)), "unset CUDA_HOME\n");
  host.world.libraries->home->is_there = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
