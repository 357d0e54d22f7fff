#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DeviceFault, AnEventOfTheRunIsEvidence) {
  const RunRecord run = ended_run({.code = 1});
  const DeathEvidence evidence{
      .run = run, .events = {event_at_the_end("gpu_lost", "GPU 0: it fell off the bus")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("device_lost"));
  EXPECT_EQ(evidence_in(first_cause(evidence)), "GPU 0: it fell off the bus\n");
  EXPECT_THAT(steps_in(first_cause(evidence)), HasSubstr("berth run --retry-on gpu-fault"));
  EXPECT_TRUE(cause_to_tell(explain_death(evidence)));
}

TEST(DeviceFault, OfARunThatItsUserOrItsTimeEndedIsARemark) {
  const auto lost = event_at_the_end("gpu_lost", "GPU 0: it fell off the bus");
  for (const auto& [run, cause] : {std::pair{ended_run({.signal = SIGINT}), "interrupted"},
                                   {ended_run({.code = 130}), "interrupted"},
                                   {ended_run({.signal = SIGTERM}), "terminated"},
                                   {ended_run({.signal = SIGKILL}, end_cause::stopped), "stopped"},
                                   {ended_run({.code = 1}, end_cause::time_limit), "time_limit"}}) {
    const DeathEvidence evidence{.run = run, .events = {lost}};
    const Findings findings = explain_death(evidence);
    ASSERT_THAT(findings, Not(IsEmpty()));
    EXPECT_EQ(findings.front().rule, cause);
    EXPECT_EQ(findings.back().rule, "device_lost") << "worth knowing all the same";
    EXPECT_EQ(findings.back().severity, Severity::hint);
    EXPECT_FALSE(cause_to_tell(findings)) << cause;
  }
}

TEST(DeviceFault, OfARunWhoseEndWasWantedIsARemarkWhateverItExitedWith) {
  const RunRecord run = ended_run({.code = 9});
  DeathEvidence evidence{.run = run, .events = {event_at_the_end("gpu_lost", "GPU 0: lost")}};
  EXPECT_TRUE(cause_to_tell(explain_death(evidence)));
  evidence.end_was_wanted = true;
  EXPECT_FALSE(cause_to_tell(explain_death(evidence)));
}

TEST(DeviceFault, IsTheCauseOfASignalThatWasSentForIt) {
  const RunRecord run = ended_run({.signal = SIGTERM});
  const DeathEvidence evidence{
      .run = run,
      .events = {event_at_the_end("gpu_lost", "GPU 0: it fell off the bus"),
                 event_at_the_end("on_gpu_fault", "the job got a signal for it")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("device_lost"));
  EXPECT_TRUE(cause_to_tell(explain_death(evidence)));
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
  const DeathEvidence evidence{
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

}  // namespace
}  // namespace berth
