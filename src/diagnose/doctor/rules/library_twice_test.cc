#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DoctorLibraryTwice, TwoVersionsOfOneSoname) {
  Examined host = healthy();
  host.world.libraries->found = {{"libcudnn", "/c/libcudnn.so.8.9.2", "8.9.2", "LD_LIBRARY_PATH"},
                                 {"libcudnn", "/a/libcudnn.so.9.0.0", "9.0.0", "LD_LIBRARY_PATH"},
                                 {"libcudnn", "/b/libcudnn.so.9.1.0", "9.1.0", "LD_LIBRARY_PATH"}};
  EXPECT_EQ(told(host),
            "hint library_twice: /a/libcudnn.so.9.0.0 comes first; then /b/libcudnn.so.9.1.0");
  EXPECT_FALSE(only(host).doubt.empty());
  host.world.libraries->found.erase(host.world.libraries->found.begin() + 1);
  EXPECT_THAT(rules_of(host), IsEmpty()) << "8 and 9 have names of their own for the loader";
}

TEST(DoctorLibraryTwice, OnesThatTheLoaderFindsByItselfOrThatAreTheDriversAreWell) {
  Examined host = healthy();
  host.world.libraries->found = {{"libcudnn", "/a/libcudnn.so.9.0.0", "9.0.0", "loader"},
                                 {"libcudnn", "/b/libcudnn.so.9.1.0", "9.1.0", "loader"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.world.libraries->found = {
      {"libcuda", "/a/libcuda.so.580.65.06", "580.65.06", "LD_LIBRARY_PATH"},
      {"libcuda", "/b/libcuda.so.580.82.07", "580.82.07", "LD_LIBRARY_PATH"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorLibraryTwice, RuntimeOfCuda11HasItsMinorNumberInItsName) {
  Examined host = healthy();
  const auto pair = [&](const char* first, const char* second) {
    host.world.libraries->found = {{"libcudart", "/a", first, "LD_LIBRARY_PATH"},
                                   {"libcudart", "/b", second, "LD_LIBRARY_PATH"}};
    return rules_of(host);
  };
  EXPECT_THAT(pair("11.8.89", "11.7.60"), IsEmpty());
  EXPECT_THAT(pair("12.9.79", "12.8.90"), ElementsAre("library_twice"));
}

}  // namespace
}  // namespace berth::doctor
