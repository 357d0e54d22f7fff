#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorLibraryPathStubs, StubInTheDriversPlace) {
  Examined host = healthy();
  host.world.libraries->found = {
      {"libcuda", "/opt/cuda/lib64/stubs/libcuda.so", "", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(told(host),
            "error library_path_stubs: LD_LIBRARY_PATH leads to /opt/cuda/lib64/stubs/libcuda.so");
  host.world.libraries->found[0].via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.libraries->found = {
      {"libcudart", "/opt/cuda/lib64/stubs/libcudart.so", "", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not the driver's";
}

}  // namespace
}  // namespace berth::doctor
