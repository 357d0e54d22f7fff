#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorPreloadStandsIn, InTheDriversPlace) {
  Examined host = healthy();
  auto& preloaded = host.world.libraries->preloaded;
  preloaded = {{"libcuda", "/usr/local/cuda/lib64/stubs/libcuda.so", "", "LD_PRELOAD"}};
  EXPECT_EQ(told(host),
            "error preload_stands_in: LD_PRELOAD names /usr/local/cuda/lib64/stubs/libcuda.so; "
            "the driver is 580.65.06");
  preloaded = {{"libnvidia-ml", "/home/ada/libnvidia-ml.so.1", "550.54.14", "LD_PRELOAD"}};
  EXPECT_EQ(only(host).severity, Severity::error);
}

TEST(DoctorPreloadStandsIn, CudasOwnMayBeMeant) {
  Examined host = healthy();
  host.world.libraries->preloaded = {{"libnccl", "/home/ada/libnccl.so.2", "2.28.3", "LD_PRELOAD"}};
  EXPECT_EQ(told(host), "hint preload_stands_in: LD_PRELOAD names /home/ada/libnccl.so.2");
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorPreloadStandsIn, TheDriversOwnOrANewerOneOnPurposeIsWell) {
  Examined host = healthy();
  host.world.libraries->preloaded = {
      {"libcuda", "/usr/lib64/libcuda.so.1", "580.65.06", "LD_PRELOAD"},
      {"libcuda", "/usr/local/cuda/compat/libcuda.so.1", "590.48.01", "LD_PRELOAD"},
      {"libcuda", "/usr/lib/wsl/lib/libcuda.so.1", "1.1", "LD_PRELOAD"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
