#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

Examined tensorflow_host() {
  Examined host = healthy();
  host.world.python->frameworks = {
      {.name = "tensorflow", .version = "2.16.1", .cuda = std::optional(TwoPart{12, 3})}};
  host.world.python->said = {};
  return host;
}

TEST(DoctorTensorflowLibrariesMissing, WithoutThemItGoesOnWithTheCpu) {
  Examined host = tensorflow_host();
  EXPECT_EQ(told(host),
            "error tensorflow_libraries_missing: there is neither a package nvidia-cudnn-cu12 nor "
            "a libcudnn.so where the loader looks");
  host.world.libraries.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody looked";
  host = tensorflow_host();
  host.world.python->frameworks[0].cuda = std::optional<TwoPart>();
  EXPECT_EQ(only(host).rule, "tensorflow_cpu_only");
}

TEST(DoctorTensorflowLibrariesMissing, InWheelsInTheSystemOrInUseTheyAreThere) {
  Examined host = tensorflow_host();
  host.world.python->packages.emplace_back("nvidia_cudnn_cu12", "8.9.7.29");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host = tensorflow_host();
  host.world.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host = tensorflow_host();
  host.world.python->is_conda = true;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "conda's lie where berth does not look";
  host = tensorflow_host();
  host.world.python->said.frameworks = {{.name = "tensorflow", .sees_gpu = true}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
