#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
