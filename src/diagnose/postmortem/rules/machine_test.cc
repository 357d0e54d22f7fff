#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "diagnose/postmortem/ended_run_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace literals;

TEST(DeviceFault, AnEventOfTheRunIsEvidence) {
  const RunRecord run = ended_run({.code = 1});
  const PostmortemEvidence evidence{
      .run = run, .events = {event_at_the_end("gpu_lost", "GPU 0: it fell off the bus")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("device_lost"));
  EXPECT_EQ(evidence_in(first_cause(evidence)), "GPU 0: it fell off the bus\n");
  EXPECT_THAT(steps_in(first_cause(evidence)), HasSubstr("berth run --retry-on gpu-fault"));
  EXPECT_TRUE(cause_to_tell(explain_postmortem(evidence)));
}

TEST(DeviceFault, OfARunThatItsUserOrItsTimeEndedIsARemark) {
  const auto lost = event_at_the_end("gpu_lost", "GPU 0: it fell off the bus");
  for (const auto& [run, cause] : {std::pair{ended_run({.signal = SIGINT}), "interrupted"},
                                   {ended_run({.code = 130}), "interrupted"},
                                   {ended_run({.signal = SIGTERM}), "terminated"},
                                   {ended_run({.signal = SIGKILL}, end_cause::stopped), "stopped"},
                                   {ended_run({.code = 1}, end_cause::time_limit), "time_limit"}}) {
    const PostmortemEvidence evidence{.run = run, .events = {lost}};
    const Findings findings = explain_postmortem(evidence);
    ASSERT_THAT(findings, Not(IsEmpty()));
    EXPECT_EQ(findings.front().rule, cause);
    EXPECT_EQ(findings.back().rule, "device_lost") << "worth knowing all the same";
    EXPECT_EQ(findings.back().severity, Severity::hint);
    EXPECT_FALSE(cause_to_tell(findings)) << cause;
  }
}

TEST(DeviceFault, OfARunWhoseEndWasWantedIsARemarkWhateverItExitedWith) {
  const RunRecord run = ended_run({.code = 9});
  PostmortemEvidence evidence{.run = run, .events = {event_at_the_end("gpu_lost", "GPU 0: lost")}};
  EXPECT_TRUE(cause_to_tell(explain_postmortem(evidence)));
  evidence.end_was_wanted = true;
  EXPECT_FALSE(cause_to_tell(explain_postmortem(evidence)));
}

TEST(DeviceFault, IsTheCauseOfASignalThatWasSentForIt) {
  const RunRecord run = ended_run({.signal = SIGTERM});
  const PostmortemEvidence evidence{
      .run = run,
      .events = {event_at_the_end("gpu_lost", "GPU 0: it fell off the bus"),
                 event_at_the_end("on_gpu_fault", "the job got a signal for it")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("device_lost"));
  EXPECT_TRUE(cause_to_tell(explain_postmortem(evidence)));
}

TEST(DeviceFault, EachKindOfEventHasItsName) {
  const RunRecord run = ended_run({.code = 1});
  for (const auto& [kind, rule] : {std::pair{"gpu_failed", "device_failed"},
                                   {"gpu_error", "device_error"},
                                   {"job_error", "job_error_on_device"}}) {
    EXPECT_THAT(causes_of({.run = run, .events = {event_at_the_end(kind, "GPU 0: XID")}}),
                ElementsAre(rule));
  }
}

TEST(DeviceFault, WithoutEventsTheKernelLogStandsInForItsDevicesAndTime) {
  const RunRecord run = ended_run({.code = 1});
  const auto xid = [](std::uint64_t code, std::string address, WallTime at) {
    return XidEvent{.pci_address = std::move(address), .code = code, .at = at, .pid = 4711};
  };
  const PostmortemEvidence evidence{
      .run = run,
      .xids =
          std::vector{xid(79, "00000000:3b:00.0", run_over), xid(48, "00000000:5e:00.0", run_over),
                      xid(48, "00000000:3b:00.0", {run_began.unix_ms - 60'000})}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("xid_79"))
      << "another device's errors and those of before are not the run's";
  EXPECT_THAT(evidence_in(first_cause(evidence)), HasSubstr("the kernel log, 00000000:3b:00.0"));
  EXPECT_THAT(first_cause(evidence).steps, Not(IsEmpty()));
}

TEST(DeviceFault, ANeighboursOwnErrorOnASharedCardIsNotTheRuns) {
  const RunRecord run = ended_run({.code = 1});
  XidEvent neighbours{.pci_address = "00000000:3b:00.0", .code = 31, .at = run_over, .pid = 4711};
  EXPECT_THAT(causes_of({.run = run, .xids = std::vector{neighbours}}), ElementsAre("xid_31"));
  neighbours.pid = 815;
  EXPECT_THAT(causes_of({.run = run, .xids = std::vector{neighbours}}), Not(Contains("xid_31")));
}

TEST(DeviceReset, ADeviceThatCameBackWasReset) {
  const RunRecord run = ended_run({.code = 1});
  const std::vector<RunEvent> events = {
      event_at_the_end("gpu_lost", "GPU 0: it fell off the bus"),
      event_at_the_end("gpu_back", "GPU 0: it was lost and answers again")};
  EXPECT_THAT(causes_of({.run = run, .events = events}),
              ElementsAre("device_lost", "device_reset"));
  const Finding reset = first_cause({.run = run, .events = {events[1]}});
  EXPECT_EQ(reset.rule, "device_reset");
  EXPECT_EQ(evidence_in(reset), "GPU 0: it was lost and answers again\n");
  EXPECT_THAT(steps_in(reset), HasSubstr("berth health"));
  EXPECT_THAT(causes_of({.run = run, .events = {events[0]}}), ElementsAre("device_lost"));
}

TEST(DeviceReset, ARunThatWasStoppedOrEndedWellDidNotDieOfIt) {
  const std::vector<RunEvent> events = {
      event_at_the_end("gpu_back", "GPU 0: it was lost and answers again")};
  const RunRecord stopped = ended_run({.signal = SIGKILL}, end_cause::stopped);
  EXPECT_THAT(causes_of({.run = stopped, .events = events}), ElementsAre("stopped"));
  EXPECT_THAT(causes_of({.run = ended_run({}), .events = events}), IsEmpty());
}

RunRecord failed_beside_a_driver() {
  RunRecord run = ended_run({.code = 1});
  run.manifest.given.host.software_of(Runtime::cuda).driver = std::string("550.54.15");
  return run;
}

std::vector<DriverLoad> loaded(std::int64_t seconds_in) {
  return {{.at = {run_began.unix_ms + seconds_in * 1000}, .version = "555.42.02"}};
}

TEST(DriverReloaded, AModuleThatWasLoadedMeanwhileIsToldWithADoubt) {
  const RunRecord run = failed_beside_a_driver();
  const Findings findings = explain_postmortem({.run = run, .driver_loads = loaded(30)});
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
  run.manifest.given.host.software_of(Runtime::cuda).driver = Absent::failed;
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

TEST(OomKiller, TheControlGroupsCounterAndTheKernelLogAreSure) {
  const RunRecord run = ended_run({.signal = SIGKILL});
  const Findings counted = explain_postmortem(
      {.run = run,
       .events = {event_at_the_end("oom_kill", "the kernel killed 1 process of its group")}});
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted[0].rule, "oom_killer");
  EXPECT_THAT(evidence_in(counted[0]), HasSubstr("the kernel killed 1 process of its group"));
  EXPECT_THAT(steps_in(counted[0]), HasSubstr("fewer data loader workers"));
  EXPECT_TRUE(counted[0].doubt.empty());
  EXPECT_TRUE(cause_to_tell(counted));
  const OomKill mine{.at = run_over, .pid = 4711, .process = "python", .resident = 60_GiB};
  const Findings logged = explain_postmortem({.run = run, .oom_kills = std::vector{mine}});
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_EQ(logged[0].rule, "oom_killer");
  EXPECT_THAT(logged[0].evidence[0].english(), HasSubstr("process 4711 (python)"));
}

TEST(OomKiller, SomebodyElsesProcessIsNotTheRuns) {
  const RunRecord run = ended_run({.signal = SIGKILL});
  const OomKill other{.at = run_over, .pid = 99, .process = "firefox"};
  EXPECT_THAT(causes_of({.run = run, .oom_kills = std::vector{other}}), ElementsAre("killed"));
  EXPECT_THAT(causes_of({.run = run, .processes = {99}, .oom_kills = std::vector{other}}),
              ElementsAre("oom_killer"));
}

TEST(OomKiller, WhereOnlyTheSizeSpeaksForItItDoubts) {
  RunRecord run = ended_run({.code = 137});
  run.end->summary.tree_memory_peak = 60_GiB;
  const Findings findings = explain_postmortem({.run = run});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "oom_killer");
  EXPECT_FALSE(findings[0].doubt.empty());
  EXPECT_EQ(cause_to_tell(findings), std::nullopt) << "a guess is not told without being asked";
}

TEST(OomKiller, AnExitOfItsOwnOrASmallRunIsNone) {
  RunRecord large = ended_run({.code = 1});
  large.end->summary.tree_memory_peak = 60_GiB;
  EXPECT_THAT(causes_of({.run = large}), IsEmpty());
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGKILL})}), ElementsAre("killed"));
}

}  // namespace
}  // namespace berth
