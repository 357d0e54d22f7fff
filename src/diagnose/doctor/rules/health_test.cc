#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;

TEST(DoctorHealthFindings, AreTakenOver) {
  Examined host = healthy();
  host.snapshot.devices[1].lost = true;
  host.snapshot.devices[1].index.reset();
  EXPECT_EQ(told(named("health_lost", host)),
            "error health_lost: it fell off the bus and answers nobody");
}

TEST(DoctorHealthFindings, WhatHealthOnlyNotesHasAMeaningAndAStepToo) {
  Examined host = healthy();
  host.snapshot.devices[0].ecc_corrected = std::uint64_t{3};
  host.snapshot.devices[0].ecc_mode = true;
  const Finding found = only(host);
  EXPECT_EQ(told(found),
            "hint health_ecc_corrected: 3 memory errors were corrected since the driver loaded");
  EXPECT_EQ(commands_of(found), "berth health\n");
}

TEST(DoctorHealthFindings, CardOfWhichTheDriverDoesNotTellWhetherItFailedIsNamed) {
  Examined host = healthy();
  host.snapshot.devices[1].details.put(Detail::recovery_action, Absent::failed);
  const Finding found = named("health_unknown", host);
  EXPECT_EQ(told(found), "warning health_unknown: recovery action: reading it failed");
  EXPECT_EQ(commands_of(found), "sudo dmesg | grep -i -e nvrm -e segfault\n");
  EXPECT_THAT(found.meaning.english(), ::testing::HasSubstr("passes over it"));
  host.snapshot.devices[1].kind = DeviceKind::amd_gpu;
  EXPECT_THAT(named("health_unknown", host).steps.front().what.english(),
              ::testing::HasSubstr("amdgpu"));
  host.snapshot.devices[1].kind = DeviceKind::nvidia_gpu;
  host.snapshot.devices[1].lost = true;
  EXPECT_THAT(rules_of(host), ::testing::Not(::testing::Contains("health_unknown")));
}

TEST(DoctorHealthFindings, WhatFollowsForAJobIsThatOfTheWholeCard) {
  Examined host = healthy();
  Device& card = host.snapshot.devices[0];
  card.ecc_mode = true;
  card.ecc_corrected = std::uint64_t{3};
  EXPECT_EQ(named("health_ecc_corrected", host).meaning.english(),
            "The card works, and `berth run` gives it out all the same.");
  card.ecc_uncorrected = std::uint64_t{1};
  EXPECT_EQ(named("health_ecc_uncorrected", host).meaning.english(),
            "`berth health` says so; `berth run` gives the card out all the same.");
  card.details.put(Detail::recovery_action, Absent::failed);  // degraded, and passed over
  EXPECT_THAT(named("health_unknown", host).meaning.english(),
              ::testing::HasSubstr("passes over it"));
  card.details.set(Detail::remapped_rows_failed, Reading<bool>(true));
  EXPECT_EQ(named("health_ecc_corrected", host).meaning.english(),
            "`berth health` calls the card failed; `berth run` gives it to nobody.");
  EXPECT_THAT(rules_of(host), ::testing::Not(::testing::Contains("health_unknown")));
}

TEST(DoctorHealthFindings, ACardOfWhichOnlyErrorsCouldNotBeCountedIsGivenOut) {
  Examined host = healthy();
  host.snapshot.devices[1].ecc_uncorrected = Absent::failed;
  EXPECT_EQ(named("health_unknown", host).meaning.english(),
            "`berth health` says so; `berth run` gives the card out all the same.");
}

TEST(DoctorHealthFindings, CardThatNoOtherRuleTellsOfIsHealths) {
  EXPECT_THAT(rules_of(without_driver(WhyUnusable("another kernel driver has it"),
                                      std::string("nvidiafb"))),
              ElementsAre("health_unusable"));
  EXPECT_THAT(rules_of(without_driver(Unusable::no_driver, Absent::unsupported)),
              ElementsAre("secure_boot"));
}

}  // namespace
}  // namespace berth::doctor
