#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorDevicesNotSeen, DevicesThatCouldNotBeLookedAtAreAnErrorAndNotNone) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.problems = {
      {.source = "probe", .code = "crashed", .message = "the probe process died of signal 11"}};
  const Findings findings = findings_of(host);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(told(findings[0]), "error devices_not_seen: the probe process died of signal 11");
}

TEST(DoctorDevicesNotSeen, AProblemBesideDevicesThatWereSeenIsNotThis) {
  Examined host = healthy();
  host.snapshot.problems = {{.source = "probe", .code = "slow", .message = "took long"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
