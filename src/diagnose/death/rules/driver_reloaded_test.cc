#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/death/death.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime began_at{1'763'690'000'000};
constexpr WallTime died_at{1'763'690'060'000};

RunRecord failed_on_a_gpu() {
  RunRecord run;
  run.manifest.started = began_at;
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 80_GiB).build();
  run.manifest.given.host.driver_version = std::string("550.54.15");
  run.state = RunState::ended;
  run.end = RunEnd{.at = died_at, .exit = {.code = 1}};
  return run;
}

std::vector<std::string> rules_said(const DeathEvidence& evidence) {
  std::vector<std::string> rules;
  for (const Finding& finding : explain_death(evidence)) rules.push_back(finding.rule);
  return rules;
}

std::vector<DriverLoad> loaded(std::int64_t seconds_in) {
  return {{.at = {began_at.unix_ms + seconds_in * 1000}, .version = "555.42.02"}};
}

TEST(DeathByDriverReset, ADeviceThatCameBackWasReset) {
  const RunRecord run = failed_on_a_gpu();
  const std::vector<RunEvent> events = {
      {died_at, "gpu_lost", "GPU 0: it fell off the bus"},
      {died_at, "gpu_back", "GPU 0: it was lost and answers again"}};
  EXPECT_THAT(rules_said({.run = run, .events = events}),
              ElementsAre("device_lost", "device_reset"));
  EXPECT_THAT(rules_said({.run = run, .events = {events[0]}}), ElementsAre("device_lost"));
}

TEST(DeathByDriverReset, AModuleThatWasLoadedMeanwhileIsToldWithADoubt) {
  const RunRecord run = failed_on_a_gpu();
  const Findings findings = explain_death({.run = run, .driver_loads = loaded(30)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "driver_reloaded");
  EXPECT_EQ(findings[0].evidence[0].english(),
            "the kernel log: the driver's module 555.42.02 was loaded");
  EXPECT_FALSE(findings[0].doubt.empty());
  EXPECT_EQ(cause_to_tell(findings), std::nullopt);
  EXPECT_THAT(rules_said({.run = run,
                          .events = {{died_at, "driver_changed", "the driver was 1 and is 2"}}}),
              ElementsAre("driver_reloaded"));
}

TEST(DeathByDriverReset, LoadedBeforeOrAfterTheRunItIsNoReload) {
  const RunRecord run = failed_on_a_gpu();
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(-60)}), IsEmpty());
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(-1)}), IsEmpty());
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(1)}), IsEmpty())
      << "the look before it loaded it";
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(120)}), IsEmpty());
}

TEST(DeathByDriverReset, AGuessThatItWasLoadedAnewLeavesTheSignalItsPlace) {
  RunRecord run = failed_on_a_gpu();
  run.end->exit = {.signal = SIGSEGV};
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(30)}),
              ElementsAre("driver_reloaded", "segmentation_fault"));
}

TEST(DeathByDriverReset, WhereTheDriverHadNotAnsweredItWasLoadedForTheFirstTime) {
  RunRecord run = failed_on_a_gpu();
  run.manifest.given.host.driver_version = Absent::failed;
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(30)}), IsEmpty());
  run = failed_on_a_gpu();
  run.manifest.given.devices.clear();
  EXPECT_THAT(rules_said({.run = run,
                          .events = {{died_at, "driver_changed", "the driver was 1 and is 2"}}}),
              IsEmpty());
  EXPECT_THAT(rules_said({.run = run, .driver_loads = loaded(30)}), IsEmpty())
      << "no GPU of its own";
}

TEST(DeathByDriverReset, ARunThatWasStoppedOrEndedWellDidNotDieOfIt) {
  RunRecord stopped = failed_on_a_gpu();
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(rules_said({.run = stopped, .driver_loads = loaded(30)}),
              Not(Contains("driver_reloaded")));
  RunRecord well = failed_on_a_gpu();
  well.end->exit = {};
  EXPECT_THAT(rules_said({.run = well, .driver_loads = loaded(30)}), IsEmpty());
}

}  // namespace
}  // namespace berth
