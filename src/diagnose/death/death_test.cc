#include "diagnose/death/death.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime start{1'763'690'000'000};
constexpr WallTime over{1'763'690'060'000};

/// A run of a minute that ended so.
RunRecord ended(Exit exit, std::string_view because = "") {
  RunRecord run;
  run.manifest.id = "20251121-014946-k3f9q2";
  run.manifest.command = {"python", "train.py", "--batch-size", "64"};
  run.manifest.user = "ada";
  run.manifest.started = start;
  run.manifest.job = ProcessId{.pid = 4711};
  run.manifest.machine.memory_total = 64_GiB;
  run.manifest.given =
      SnapshotBuilder()
          .gpu("GPU-A", 80_GiB)
          .with([](Device& device) { device.pci_address = std::string("00000000:3b:00.0"); })
          .build();
  run.manifest.promised = {20_GiB};
  run.state = RunState::ended;
  run.end = RunEnd{.at = over, .exit = exit, .because = std::string(because)};
  run.end->summary.tree_memory_peak = 4_GiB;
  return run;
}

RunEvent event(std::string kind, std::string text) {
  return {.at = over, .kind = std::move(kind), .text = std::move(text)};
}

std::vector<std::string> rules_of(const DeathEvidence& evidence) {
  std::vector<std::string> rules;
  for (const Finding& finding : explain_death(evidence)) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.rule;
    rules.push_back(finding.rule);
  }
  return rules;
}

TEST(Death, OfARunThatEndedWellNothingIsSaid) {
  const RunRecord run = ended({});
  const LogText log("ValueError: Expected a cuda device, but got: cpu\n");
  EXPECT_THAT(rules_of({.run = run,
                        .events = {event("oom_kill", "the kernel killed one"),
                                   event("job_error", "GPU 0: XID 13")},
                        .log = &log}),
              IsEmpty());
}

TEST(Death, AnExitCodeAloneIsNoCause) {
  const RunRecord run = ended({.code = 1});
  EXPECT_THAT(rules_of({.run = run}), IsEmpty());
  EXPECT_EQ(cause_to_tell(explain_death({.run = run})), std::nullopt);
}

TEST(DeathByBerth, ATimeLimitAndAStopAreNamedAndNotTakenForSignals) {
  const RunRecord late = ended({.signal = SIGTERM}, end_cause::time_limit);
  EXPECT_THAT(rules_of({.run = late, .events = {event("time_limit", "the time is over")}}),
              ElementsAre("time_limit"));
  const RunRecord stopped = ended({.signal = SIGKILL}, end_cause::stopped);
  EXPECT_THAT(rules_of({.run = stopped}), ElementsAre("stopped"));
  EXPECT_EQ(cause_to_tell(explain_death({.run = late})), std::nullopt)
      << "the line about the end says it already";
}

TEST(DeathByDevice, AnEventOfTheRunIsEvidenceAndTheKernelLogStandsIn) {
  const RunRecord run = ended({.code = 1});
  EXPECT_THAT(rules_of({.run = run, .events = {event("gpu_lost", "GPU 0: it fell off the bus")}}),
              ElementsAre("device_lost"));
  const auto xid = [](std::uint64_t code, std::string address, WallTime at) {
    return XidEvent{.pci_address = std::move(address), .code = code, .at = at, .pid = 4711};
  };
  EXPECT_THAT(
      rules_of(
          {.run = run,
           .xids = std::vector{xid(79, "00000000:3b:00.0", over), xid(48, "00000000:5e:00.0", over),
                               xid(48, "00000000:3b:00.0", {start.unix_ms - 60'000})}}),
      ElementsAre("xid_79"))
      << "another device's errors and those of before are not the run's";
  XidEvent neighbours = xid(31, "00000000:3b:00.0", over);
  EXPECT_THAT(rules_of({.run = run, .xids = std::vector{neighbours}}), ElementsAre("xid_31"));
  neighbours.pid = 815;
  EXPECT_THAT(rules_of({.run = run, .xids = std::vector{neighbours}}),
              testing::Not(testing::Contains("xid_31")))
      << "a neighbour's own error on a shared card";
}

TEST(DeathByOomKiller, TheControlGroupsCounterAndTheKernelLogAreSure) {
  const RunRecord run = ended({.signal = SIGKILL});
  const Findings counted = explain_death(
      {.run = run, .events = {event("oom_kill", "the kernel killed 1 process of its group")}});
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted[0].rule, "oom_killer");
  EXPECT_TRUE(counted[0].doubt.empty());
  EXPECT_TRUE(cause_to_tell(counted));
  const OomKill mine{.at = over, .pid = 4711, .process = "python", .resident = 60_GiB};
  const Findings logged = explain_death({.run = run, .oom_kills = std::vector{mine}});
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_EQ(logged[0].rule, "oom_killer");
  EXPECT_THAT(logged[0].evidence[0].english(), HasSubstr("process 4711 (python)"));
}

TEST(DeathByOomKiller, SomebodyElsesProcessIsNotTheRuns) {
  const RunRecord run = ended({.signal = SIGKILL});
  const OomKill other{.at = over, .pid = 99, .process = "firefox"};
  EXPECT_THAT(rules_of({.run = run, .oom_kills = std::vector{other}}), ElementsAre("killed"));
  EXPECT_THAT(rules_of({.run = run, .processes = {99}, .oom_kills = std::vector{other}}),
              ElementsAre("oom_killer"));
}

TEST(DeathByOomKiller, WhereOnlyTheSizeSpeaksForItItDoubts) {
  RunRecord run = ended({.code = 137});
  run.end->summary.tree_memory_peak = 60_GiB;
  const Findings findings = explain_death({.run = run});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "oom_killer");
  EXPECT_FALSE(findings[0].doubt.empty());
  EXPECT_EQ(cause_to_tell(findings), std::nullopt) << "a guess is not told without being asked";
}

TEST(DeathByLog, TheLogsCauseComesBeforeTheSignal) {
  const RunRecord run = ended({.signal = SIGABRT});
  const LogText log(
      "terminate called after throwing an instance of 'c10::Error'\n"
      "  what():  CUDA error: an illegal memory access was encountered\n");
  EXPECT_THAT(rules_of({.run = run, .log = &log}), ElementsAre("illegal_address"));
}

TEST(DeathByLog, TheCommandsBatchGoesIntoTheAnswer) {
  const RunRecord run = ended({.code = 1});
  const LogText log(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total "
      "capacity of 80.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process "
      "has 79.00 GiB memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and "
      "1.00 GiB is reserved by PyTorch but unallocated.\n");
  const Findings findings = explain_death({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].steps[0].what.english(), HasSubstr("a batch of 64 cannot fit"));
  EXPECT_THAT(findings[0].evidence.back().english(), HasSubstr("promised 20.0 GiB"));
}

TEST(DeathBySignal, EachSignalIsNamedAndAShellsCodeIsOne) {
  EXPECT_THAT(rules_of({.run = ended({.signal = SIGSEGV})}), ElementsAre("segmentation_fault"));
  EXPECT_THAT(rules_of({.run = ended({.code = 139})}), ElementsAre("segmentation_fault"));
  EXPECT_THAT(rules_of({.run = ended({.signal = SIGHUP})}), ElementsAre("terminal_closed"));
  EXPECT_THAT(rules_of({.run = ended({.signal = SIGUSR2})}), ElementsAre("signal"));
  EXPECT_EQ(cause_to_tell(explain_death({.run = ended({.signal = SIGINT})})), std::nullopt);
  EXPECT_TRUE(cause_to_tell(explain_death({.run = ended({.signal = SIGSEGV})})));
}

TEST(DeathWithoutCause, TheLastLinesAreShownAndAnUnknownEndIsSaid) {
  const LogText log("one\ntwo\n\x1b[31mKeyError: 'x'\x1b[0m\n");
  const RunRecord run = ended({.code = 1});
  const Findings findings = explain_death({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "last_lines");
  EXPECT_EQ(findings[0].evidence.back().english(), "KeyError: 'x'");
  RunRecord unknown = ended({});
  unknown.end->known = false;
  EXPECT_THAT(rules_of({.run = unknown}), ElementsAre("end_unknown"));
}

}  // namespace
}  // namespace berth
