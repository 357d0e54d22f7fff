#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <limits>

#include "diagnose/postmortem/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EndedByBerth, ATimeLimitIsNamedAndNotTakenForASignal) {
  const RunRecord late = ended_run({.signal = SIGTERM}, end_cause::time_limit);
  const PostmortemEvidence evidence{.run = late,
                                    .events = {event_at_the_end("time_limit", "the time is over")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("time_limit"));
  EXPECT_EQ(evidence_in(first_cause(evidence)), "the time is over\n");
  EXPECT_THAT(steps_in(first_cause(evidence)), HasSubstr("berth run --time 12h"));
  EXPECT_EQ(cause_to_tell(explain_postmortem(evidence)), std::nullopt)
      << "the line about the end says it already";
}

TEST(EndedByBerth, TheWarningIsNotTakenForTheLimitItself) {
  RunRecord early = ended_run({.signal = SIGTERM}, end_cause::time_limit);
  early.manifest.time_limit_ms = 3000;
  early.end->lasted_ms = 2000;
  const Finding warned = first_cause({.run = early});
  EXPECT_EQ(warned.title.english(), "ended by the warning signal before its time limit of 3s");
  EXPECT_THAT(warned.meaning.english(), HasSubstr("--warn-ahead"));
  EXPECT_THAT(steps_in(warned), HasSubstr("--time 6s --warn-signal USR1 --warn-ahead 600ms"));
  EXPECT_THAT(steps_in(warned), HasSubstr("berth recipes show resume"));
  early.end->lasted_ms = 3000;
  EXPECT_EQ(first_cause({.run = early}).title.english(), "its time limit of 3s was over");
  early.end->because = end_cause::warned;
  EXPECT_EQ(first_cause({.run = early}).title.english(),
            "it ended after the warning that its time limit of 3s was near");
}

TEST(EndedByBerth, MoreTimeIsTwiceWhatItHad) {
  RunRecord late = ended_run({.signal = SIGTERM}, end_cause::time_limit);
  late.manifest.time_limit_ms = 12 * 3'600'000;
  EXPECT_THAT(steps_in(first_cause({.run = late})),
              HasSubstr("--time 24h --warn-signal USR1 --warn-ahead 5m"));
  late.manifest.time_limit_ms = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(steps_in(first_cause({.run = late})), HasSubstr("--time 12h"));
}

TEST(EndedByBerth, AJobAboveItsShareOfMemoryIsNotTakenForASignal) {
  const RunRecord over = ended_run({.signal = SIGKILL}, end_cause::memory_cap);
  const PostmortemEvidence evidence{
      .run = over, .events = {event_at_the_end("memory_over_cap", "GPU 2: this run uses 12 GiB")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("memory_cap"));
  EXPECT_EQ(evidence_in(first_cause(evidence)), "GPU 2: this run uses 12 GiB\n");
  EXPECT_THAT(steps_in(first_cause(evidence)), HasSubstr("berth run --memory"));
  EXPECT_EQ(cause_to_tell(explain_postmortem(evidence)), std::nullopt);
}

TEST(EndedByBerth, ARunThatNeverStartedIsNotTakenForAJobThatFailed) {
  RunRecord waited = ended_run({.code = 124}, end_cause::no_device);
  waited.manifest.waiting = true;
  waited.manifest.waited_ms = 7'200'000;
  EXPECT_THAT(causes_of({.run = waited}), ElementsAre("never_started"));
  EXPECT_EQ(first_cause({.run = waited}).title.english(), "no device came for it within 2h00m");
  EXPECT_THAT(steps_in(first_cause({.run = waited})), HasSubstr("berth leases"));
  waited.end = RunEnd{.at = run_over, .exit = {.signal = SIGTERM}};
  waited.end->because = end_cause::left_queue;
  EXPECT_EQ(first_cause({.run = waited}).title.english(), "it left the queue before a device came");
  EXPECT_EQ(steps_in(first_cause({.run = waited})), "") << "its log is empty";
  waited.end->stopped_by = "ana";
  EXPECT_EQ(first_cause({.run = waited}).title.english(),
            "ana took it out of the queue with berth stop");
  waited.end->because = end_cause::not_started;
  EXPECT_EQ(first_cause({.run = waited}).title.english(), "it failed before it was started");
  EXPECT_THAT(steps_in(first_cause({.run = waited})), HasSubstr("berth logs"));
  waited.manifest.waiting = false;
  waited.end->because = "";
  EXPECT_THAT(causes_of({.run = waited}), testing::Not(testing::Contains("never_started")));
}

TEST(EndedByBerth, AStopIsNamedWithWhoCanHaveWishedIt) {
  const RunRecord stopped = ended_run({.signal = SIGKILL}, end_cause::stopped);
  EXPECT_THAT(causes_of({.run = stopped}), ElementsAre("stopped"));
  EXPECT_THAT(evidence_in(first_cause({.run = stopped})), HasSubstr("the wish to stop it"));
  EXPECT_THAT(first_cause({.run = stopped}).meaning.english(),
              HasSubstr("Only ada and root can do so"));
  RunRecord of_root = stopped;
  of_root.manifest.user = "root";
  EXPECT_THAT(first_cause({.run = of_root}).meaning.english(), HasSubstr("Only root can do so"));
}

TEST(EndedByBerth, ASignalThatSomebodyElseSentIsNotBerths) {
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGTERM})}), ElementsAre("terminated"));
}

}  // namespace
}  // namespace berth
