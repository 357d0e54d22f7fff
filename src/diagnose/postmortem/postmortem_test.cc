// Claims that hold for all causes together. Each rule has its own tests in rules/.

#include "diagnose/postmortem/postmortem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "diagnose/postmortem/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Postmortem, OfARunThatEndedWellNothingIsSaid) {
  const RunRecord run = ended_run({});
  const LogText log("ValueError: Expected a cuda device, but got: cpu\n");
  EXPECT_THAT(causes_of({.run = run,
                         .events = {event_at_the_end("oom_kill", "the kernel killed one"),
                                    event_at_the_end("job_error", "GPU 0: XID 13")},
                         .log = &log}),
              IsEmpty());
}

TEST(Postmortem, OfAProgramThatGaveItsDevicesBackNobodySaysHowItEnded) {
  RunRecord run = ended_run({.code = 1});  // whatever stands there
  run.end->gave_back = true;
  const LogText log("ValueError: Expected a cuda device, but got: cpu\n");
  EXPECT_THAT(causes_of({.run = run, .log = &log}), IsEmpty());
  EXPECT_EQ(ending_of(run), JobEnding::gave_back);
  EXPECT_TRUE(ended_in_order(run));
  EXPECT_FALSE(has_failed(run));
  EXPECT_FALSE(ended_well(run));
}

TEST(Postmortem, AnExitCodeAloneIsNoCause) {
  const RunRecord run = ended_run({.code = 1});
  EXPECT_THAT(causes_of({.run = run}), IsEmpty());
  EXPECT_EQ(cause_to_tell(explain_postmortem({.run = run})), std::nullopt);
}

TEST(Postmortem, TheLogsCauseComesBeforeTheSignal) {
  const RunRecord run = ended_run({.signal = SIGABRT});
  const LogText log(
      "terminate called after throwing an instance of 'c10::Error'\n"
      "  what():  CUDA error: an illegal memory access was encountered\n");
  EXPECT_THAT(causes_of({.run = run, .log = &log}), ElementsAre("illegal_address"));
}

TEST(Postmortem, EachNameBelongsToOneRuleAndToAGuessAtTheSame) {
  std::set<std::string_view> names;
  for (const PostmortemRule& rule : postmortem_rules()) {
    const auto own = names_in(rule.reports);
    EXPECT_THAT(own, Not(IsEmpty()));
    for (const std::string_view name : std::set(own.begin(), own.end())) {
      EXPECT_TRUE(names.insert(name).second || rule.asked == PostmortemRule::Asked::without_cause)
          << name;
    }
  }
}

TEST(Postmortem, WhateverIsSaidHasEvidence) {
  const LogText log("KeyError: 'x'\n");
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  std::vector<RunRecord> runs = {ended_run({.signal = SIGKILL}, end_cause::stopped),
                                 ended_run({.code = 1}, end_cause::time_limit), unknown};
  for (const int signal : {SIGSEGV, SIGBUS, SIGKILL, SIGTERM, SIGHUP, SIGUSR2}) {
    runs.push_back(ended_run({.signal = signal}));
  }
  for (const RunRecord& run : runs) {
    const Findings findings = explain_postmortem({.run = run, .log = &log});
    EXPECT_THAT(findings, Not(IsEmpty()));
    for (const Finding& finding : findings) EXPECT_FALSE(finding.evidence.empty()) << finding.rule;
  }
}

}  // namespace
}  // namespace berth
