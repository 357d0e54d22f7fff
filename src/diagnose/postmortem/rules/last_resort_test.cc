#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/postmortem/ended_run_test.h"
#include "diagnose/postmortem/rank_runs_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(EndedBySignal, EachSignalIsNamedAndAShellsCodeIsOne) {
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGSEGV})}),
              ElementsAre("segmentation_fault"));
  EXPECT_THAT(causes_of({.run = ended_run({.code = 139})}), ElementsAre("segmentation_fault"));
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGHUP})}), ElementsAre("terminal_closed"));
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGUSR2})}), ElementsAre("signal"));
  EXPECT_EQ(cause_to_tell(explain_postmortem({.run = ended_run({.signal = SIGINT})})),
            std::nullopt);
  EXPECT_TRUE(cause_to_tell(explain_postmortem({.run = ended_run({.signal = SIGSEGV})})));
}

TEST(EndedBySignal, SaysWhichItWasAndWhatToTry) {
  const Finding found = first_cause({.run = ended_run({.signal = SIGSEGV})});
  EXPECT_THAT(evidence_in(found), HasSubstr("it was ended by SIGSEGV (11)"));
  EXPECT_THAT(steps_in(found), HasSubstr("export PYTHONFAULTHANDLER=1"));
  EXPECT_THAT(evidence_in(first_cause({.run = ended_run({.code = 139})})),
              HasSubstr("it exited with 139, as a shell does"));
}

TEST(EndedBySignal, AnExitCodeOfItsOwnIsNone) {
  EXPECT_THAT(causes_of({.run = ended_run({.code = 1})}), IsEmpty());
  EXPECT_THAT(causes_of({.run = ended_run({.code = 255})}), IsEmpty());
}

TEST(ShareRefused, IsAGuessWhereNoOutputSaysWhy) {
  const RunRecord run = ended_run({.code = 1});
  EXPECT_THAT(causes_of({.run = run, .refusals = 2}), ElementsAre("share_refused"));
  EXPECT_THAT(evidence_in(first_cause({.run = run, .refusals = 2})),
              HasSubstr("refused allocations: 2"));
  EXPECT_THAT(causes_of({.run = ended_run({.code = 0}), .refusals = 2}), IsEmpty());
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGTERM}, "stopped"), .refusals = 2}),
              Not(Contains("share_refused")));
  EXPECT_EQ(cause_to_tell(explain_postmortem({.run = run, .refusals = 2})), std::nullopt);
}

Findings said_of(const RunRecord& run, const std::vector<RunRecord>& others) {
  Findings said = explain_postmortem({.run = run, .siblings = siblings_of(run, others)});
  std::erase_if(said, [](const Finding& one) { return one.rule != "rank_ended_first"; });
  return said;
}

TEST(RankEndedFirst, WhoEndedFirstIsNamed) {
  const Findings findings = said_of(rank_run(0, 660), {rank_run(1, 659), rank_run(2, 60)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "rank_ended_first");
  EXPECT_EQ(findings[0].title.english(), "another rank of the job ended first: rank 2");
  EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("exit code 1, 600 s before this one"));
  EXPECT_EQ(findings[0].steps[0].command, "berth explain 20251121-014942-aaaaaa");
  EXPECT_TRUE(findings[0].doubt.empty());
  const Findings killed = said_of(rank_run(0, 660), {rank_run(2, 60, {.signal = SIGKILL})});
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_THAT(killed[0].evidence[0].english(), HasSubstr("SIGKILL (9)"));
  EXPECT_FALSE(killed[0].doubt.empty()) << "rank 1 has no record";
  const Findings all =
      said_of(rank_run(0, 660), {rank_run(1, 659), rank_run(2, 60, {.signal = SIGTERM})});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].doubt.english(), "somebody ended it, and perhaps this one too");
}

TEST(RankEndedFirst, WhoEndedTogetherOrWellIsNot) {
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 59), rank_run(2, 61)}), IsEmpty())
      << "their launcher ended them";
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 20, {})}), IsEmpty());
  EXPECT_THAT(said_of(rank_run(0, 60), {rank_run(1, 20), rank_run(2, 21)}), IsEmpty())
      << "which of the two cannot be told";
  EXPECT_THAT(said_of(rank_run(0, 20), {rank_run(1, 60)}), IsEmpty()) << "it was the first itself";
  RunRecord other_machine = rank_run(1, 40);
  other_machine.manifest.machine_id = "m2";
  EXPECT_THAT(said_of(rank_run(0, 60), {other_machine}), IsEmpty()) << "their clocks may differ";
}

TEST(RankEndedFirst, ARunThatEndedWellOrWasStoppedDidNotDieOfIt) {
  EXPECT_THAT(said_of(rank_run(0, 60, {}), {rank_run(1, 20)}), IsEmpty());
  RunRecord stopped = rank_run(0, 60);
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(said_of(stopped, {rank_run(1, 20)}), IsEmpty());
  RunRecord sibling = rank_run(1, 20);
  sibling.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(said_of(rank_run(0, 60), {sibling}), IsEmpty()) << "the other one was stopped";
}

TEST(EndUnknown, IsSaidOfARunWhoseKeeperLeftNoEnd) {
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  EXPECT_THAT(causes_of({.run = unknown}), ElementsAre("end_unknown"));
  const Finding found = first_cause({.run = unknown});
  EXPECT_THAT(evidence_in(found), HasSubstr("its keeper has gone without writing the end"));
  EXPECT_THAT(steps_in(found), HasSubstr("uptime -s"));
}

TEST(EndUnknown, IsNotTheKeepersWhereNoContainerWasMade) {
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  const Finding found = first_cause(
      {.run = unknown, .events = {event_at_the_end("container_not_made", "docker made none")}});
  EXPECT_EQ(found.rule, "end_unknown");
  EXPECT_THAT(evidence_in(found), HasSubstr("docker made none"));
}

TEST(EndUnknown, IsNotSaidWhereTheEndOrItsCauseIsKnown) {
  EXPECT_THAT(causes_of({.run = ended_run({.code = 1})}), IsEmpty());
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  EXPECT_THAT(causes_of({.run = unknown, .events = {event_at_the_end("gpu_lost", "GPU 0: lost")}}),
              ElementsAre("device_lost"));
}

TEST(LastLines, AreShownWhereNothingSaysWhy) {
  const LogText log("one\ntwo\n\x1b[31mKeyError: 'x'\x1b[0m\n");
  const RunRecord run = ended_run({.code = 1});
  const Findings findings = explain_postmortem({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "last_lines");
  EXPECT_EQ(findings[0].evidence.back().english(), "KeyError: 'x'");
}

TEST(LastLines, AreNotShownBesideACauseOrWhereThereAreNone) {
  const LogText cause("RuntimeError: CUDA error: an illegal memory access was encountered\n");
  const RunRecord run = ended_run({.code = 1});
  EXPECT_THAT(causes_of({.run = run, .log = &cause}), ElementsAre("illegal_address"));
  const LogText empty("");
  EXPECT_THAT(causes_of({.run = run, .log = &empty}), IsEmpty());
}

}  // namespace
}  // namespace berth
