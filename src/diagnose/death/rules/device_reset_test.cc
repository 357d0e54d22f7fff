#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace berth
