#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorComputeModeExclusive, SomebodyIsOnTheCard) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_mode = std::string("Exclusive_Process");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody is on it";
  host.snapshot.gpu_processes.push_back({.device = host.snapshot.devices[0].id, .pid = 7});
  EXPECT_EQ(told(named("compute_mode_exclusive", host)),
            "hint compute_mode_exclusive: its compute mode is Exclusive_Process");
}

}  // namespace
}  // namespace berth::doctor
