#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorCudnnOfAnotherMajor, ThanTensorflowsBuild) {
  Examined host = healthy();
  host.world.python->frameworks = {{.name = "tensorflow",
                                    .version = "2.18.0",
                                    .cuda = std::optional(TwoPart{12, 5}),
                                    .cuda_source = "build_info.py",
                                    .cudnn_major = 9}};
  host.world.python->said = {};
  host.world.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "loader"}};
  EXPECT_EQ(told(host),
            "error cudnn_of_another_major: tensorflow 2.18.0 was built with cuDNN 9 "
            "(build_info.py); there is /c/libcudnn.so.8.9.2");
  host.world.python->packages = {{"nvidia_cudnn_cu12", "9.3.0.75"}};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the environment brings its own";
  host.world.python->packages.clear();
  host.world.libraries->found.push_back({"libcudnn", "/d/libcudnn.so.9.1.0", "9.1.0", "loader"});
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the loader takes the one of that name";
}

}  // namespace
}  // namespace berth::doctor
