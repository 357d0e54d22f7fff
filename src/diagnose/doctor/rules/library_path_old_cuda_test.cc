#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorLibraryPathOldCuda, OlderCudaInFrontOfTheFrameworks) {
  Examined host = healthy();
  FoundLibrary old{"libcudart", "/cuda/lib64/libcudart.so.12.2.140", "12.2.140", "LD_LIBRARY_PATH"};
  host.world.libraries->found = {old};
  EXPECT_THAT(told(host), HasSubstr("hint library_path_old_cuda: LD_LIBRARY_PATH leads to "
                                    "/cuda/lib64/libcudart.so.12.2.140; torch 2.9.1+cu128 was "
                                    "built for CUDA 12.8"));
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"12.8.90", "12.9.79", "11.8.89", "12", "13.0.48"}) {
    host.world.libraries->found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  host.world.libraries->found = {old};
  host.world.libraries->found[0].via = "loader";
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.libraries->found = {old};
  host.world.python->said.frameworks[0].error = "ImportError: __nvJitLinkComplete_12_4";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
  EXPECT_EQ(named("library_path_old_cuda", host).severity, Severity::warning);
}

TEST(DoctorLibraryPathOldCuda, OlderCudnnOrNcclInFrontOfTheWheels) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"},
                                 {"nvidia_nccl_cu12", "2.27.5"}};
  auto& found = host.world.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(only(host).rule, "library_path_old_cuda");
  EXPECT_THAT(only(host).title.english(), HasSubstr("older cuDNN in front of that of torch"));
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("nvidia_cudnn_cu12 9.10.2.21"));
  EXPECT_FALSE(only(host).doubt.empty());
  for (const char* version : {"9.10.2", "9.10.3", "9.11.0", "9", "", "8.9.7", "10.0.0"}) {
    found[0].version = version;
    EXPECT_THAT(rules_of(host), IsEmpty()) << version;
  }
  found = {{"libnccl", "/c/libnccl.so.2.18.5", "2.18.5", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(only(host).title.english(), HasSubstr("older NCCL"));
  host.world.python->said.frameworks[0].error = "ImportError: undefined symbol: ncclCommWindow";
  EXPECT_THAT(rules_of(host), ElementsAre("import_failed", "library_path_old_cuda"));
  host.world.python->said.frameworks[0].error.clear();
  host.world.python->packages.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "which one torch has is not to be told";
}

TEST(DoctorLibraryPathOldCuda, OlderOnesThatTheLoaderDoesNotTakeAreWell) {
  Examined host = healthy();
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  auto& found = host.world.libraries->found;
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the system's are looked at last";
  found = {{"libcudnn", "/venv/libcudnn.so.9", "9", "LD_LIBRARY_PATH"},
           {"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "the wheels' own is first";
  found = {{"libcudnn", "/c/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  host.world.python->packages = {{"nvidia_cudnn_cu11", "9.10.2.21"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "another generation's wheel is not this torch's";
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.10.2.21"}};
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  EXPECT_THAT(rules_of(host), Not(Contains("library_path_old_cuda"))) << "a build without CUDA";
}

}  // namespace
}  // namespace berth::doctor
