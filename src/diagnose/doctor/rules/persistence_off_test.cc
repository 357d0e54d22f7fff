#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorPersistenceOff, WhereNoDisplayKeepsTheDriverAwake) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.persistence_mode = false;
  EXPECT_EQ(told(host),
            "hint persistence_off: it is off on GPU 0, 1, and no display keeps the driver awake");
  host.snapshot.devices[0].display_active = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.snapshot.devices[0].display_active = false;
  host.world.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the host's matter";
}

}  // namespace
}  // namespace berth::doctor
