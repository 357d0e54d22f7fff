#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorMigModePending, ModeThatWaitsForAReset) {
  Examined host = healthy();
  Device& card = host.snapshot.devices[0];
  card.mig_mode = false;
  card.details.set(Detail::mig_mode_pending, Reading<bool>(true));
  EXPECT_EQ(told(host),
            "warning mig_mode_pending: MIG mode is off now, and on after the next reset");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--gpu-reset -i 0"));
  card.details.set(Detail::mig_mode_pending, Reading<bool>(false));
  EXPECT_THAT(rules_of(host), IsEmpty());
  card.details.set(Detail::mig_mode_pending, Reading<bool>(Absent::failed));
  EXPECT_THAT(rules_of(host), IsEmpty()) << "what is not known is no finding";
}

TEST(DoctorMigModePending, LeavingMigIsToldTheOtherWayRound) {
  Examined host = healthy();
  host.snapshot.devices[0].mig_mode = true;
  host.snapshot.devices[0].details.set(Detail::mig_mode_pending, Reading<bool>(false));
  const Finding found = named("mig_mode_pending", host);
  EXPECT_EQ(told(found),
            "warning mig_mode_pending: MIG mode is on now, and off after the next reset");
  EXPECT_THAT(commands_of(found), HasSubstr("sudo nvidia-smi -i 0 -mig 1"));
}

}  // namespace
}  // namespace berth::doctor
