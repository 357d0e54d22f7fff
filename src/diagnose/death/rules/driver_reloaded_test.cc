#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RunRecord failed_beside_a_driver() {
  RunRecord run = ended_run({.code = 1});
  run.manifest.given.host.driver_version = std::string("550.54.15");
  return run;
}

std::vector<DriverLoad> loaded(std::int64_t seconds_in) {
  return {{.at = {run_began.unix_ms + seconds_in * 1000}, .version = "555.42.02"}};
}

TEST(DriverReloaded, AModuleThatWasLoadedMeanwhileIsToldWithADoubt) {
  const RunRecord run = failed_beside_a_driver();
  const Findings findings = explain_death({.run = run, .driver_loads = loaded(30)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "driver_reloaded");
  EXPECT_EQ(findings[0].evidence[0].english(),
            "the kernel log: the driver's module 555.42.02 was loaded");
  EXPECT_THAT(steps_in(findings[0]), HasSubstr("berth doctor"));
  EXPECT_FALSE(findings[0].doubt.empty());
  EXPECT_EQ(cause_to_tell(findings), std::nullopt);
  EXPECT_THAT(
      causes_of({.run = run,
                 .events = {event_at_the_end("driver_changed", "the driver was 1 and is 2")}}),
      ElementsAre("driver_reloaded"));
}

TEST(DriverReloaded, LoadedBeforeOrAfterTheRunItIsNoReload) {
  const RunRecord run = failed_beside_a_driver();
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(-60)}), IsEmpty());
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(-1)}), IsEmpty());
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(1)}), IsEmpty())
      << "the look before it loaded it";
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(120)}), IsEmpty());
}

TEST(DriverReloaded, AGuessThatItWasLoadedAnewLeavesTheSignalItsPlace) {
  RunRecord run = failed_beside_a_driver();
  run.end->exit = {.signal = SIGSEGV};
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(30)}),
              ElementsAre("driver_reloaded", "segmentation_fault"));
}

TEST(DriverReloaded, WhereTheDriverHadNotAnsweredItWasLoadedForTheFirstTime) {
  RunRecord run = failed_beside_a_driver();
  run.manifest.given.host.driver_version = Absent::failed;
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(30)}), IsEmpty());
  run = failed_beside_a_driver();
  run.manifest.given.devices.clear();
  EXPECT_THAT(
      causes_of({.run = run,
                 .events = {event_at_the_end("driver_changed", "the driver was 1 and is 2")}}),
      IsEmpty());
  EXPECT_THAT(causes_of({.run = run, .driver_loads = loaded(30)}), IsEmpty())
      << "no GPU of its own";
}

TEST(DriverReloaded, ARunThatWasStoppedOrEndedWellDidNotDieOfIt) {
  RunRecord stopped = failed_beside_a_driver();
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(causes_of({.run = stopped, .driver_loads = loaded(30)}),
              Not(Contains("driver_reloaded")));
  RunRecord well = failed_beside_a_driver();
  well.end->exit = {};
  EXPECT_THAT(causes_of({.run = well, .driver_loads = loaded(30)}), IsEmpty());
}

}  // namespace
}  // namespace berth
