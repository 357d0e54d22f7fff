#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/postmortem/ended_run_test.h"
#include "diagnose/postmortem/neighbour_samples_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace literals;

TEST(KnownErrorText, IsTheCauseWithItsLineAndWhatToTry) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log("RuntimeError: CUDA error: an illegal memory access was encountered\n");
  const Finding found = first_cause({.run = run, .log = &log});
  EXPECT_EQ(found.rule, "illegal_address");
  EXPECT_THAT(evidence_in(found), HasSubstr("an illegal memory access was encountered"));
  EXPECT_THAT(steps_in(found), HasSubstr("CUDA_LAUNCH_BLOCKING=1"));
}

TEST(KnownErrorText, TheCommandsBatchGoesIntoTheAnswer) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total "
      "capacity of 80.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process "
      "has 79.00 GiB memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and "
      "1.00 GiB is reserved by PyTorch but unallocated.\n");
  const Findings findings = explain_postmortem({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].steps[0].what.english(), HasSubstr("a batch of 64 cannot fit"));
  EXPECT_THAT(findings[0].evidence.back().english(), HasSubstr("promised 20.0 GiB"));
}

TEST(KnownErrorText, ALogThatNamesNoErrorOfTheCatalogueGivesNoCause) {
  const RunRecord run = ended_run({.code = 1});
  const LogText log("epoch 3: loss 0.41\nKeyError: 'x'\n");
  EXPECT_THAT(causes_of({.run = run, .log = &log}), ElementsAre("last_lines"));
}

RunRecord failed_beside_others(Exit exit = {.code = 1}) {
  RunRecord run;
  run.manifest.user = "ada";
  run.manifest.started = run_began;
  run.manifest.job = ProcessId{.pid = 4711};
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).build();
  run.manifest.promised = {std::nullopt};
  run.state = RunState::ended;
  run.end = RunEnd{.at = run_over, .exit = exit};
  return run;
}

constexpr auto torch_message =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 24.00 GiB of which 205.00 MiB is free. Process 99 has 11.80 GiB memory in use. "
    "Including non-PyTorch memory, this process has 12.00 GiB memory in use. Of the allocated "
    "memory 11.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but "
    "unallocated.\n";

std::vector<std::string> rules_for(const RunRecord& run, const std::vector<Sample>& samples,
                                   std::string_view text) {
  const LogText log(text);
  std::vector<std::string> rules;
  for (const Finding& finding :
       explain_postmortem({.run = run, .neighbours = growths_in(samples), .log = &log})) {
    EXPECT_FALSE(finding.evidence.empty());
    rules.push_back(finding.rule);
  }
  return rules;
}

TEST(NeighbourGrew, WhoTookTheMemoryWhileItRanIsTheCause) {
  const RunRecord run = failed_beside_others();
  EXPECT_THAT(rules_for(run, grown_neighbour, torch_message),
              ElementsAre("cuda_out_of_memory", "neighbour_grew"));
  const LogText log(torch_message);
  const Findings findings =
      explain_postmortem({.run = run, .neighbours = growths_in(grown_neighbour), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].evidence[0].english(),
            "others on GPU 0 grew from 2.4 GiB to 11.8 GiB of its 24.0 GiB");
  EXPECT_THAT(steps_in(findings[1]), HasSubstr("berth ps"));
  EXPECT_FALSE(findings[1].doubt.empty()) << "nobody is named";
}

TEST(NeighbourGrew, TheUserIsNamedWhereTheDriverListsHisProcesses) {
  const RunRecord run = failed_beside_others();
  const auto samples = minute_of_samples(
      {.used_mib = 14 * 1024, .own_mib = 12 * 1024, .users_mib = {{"ada", 512}, {"bob", 1536}}},
      {.used_mib = 24'371, .own_mib = 12 * 1024, .users_mib = {{"ada", 512}, {"bob", 11'000}}});
  const LogText log(torch_message);
  const Findings findings =
      explain_postmortem({.run = run, .neighbours = growths_in(samples), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings[1].doubt.empty());
  ASSERT_EQ(findings[1].evidence.size(), 3U) << "who did not grow is not named";
  EXPECT_EQ(findings[1].evidence[2].english(), "processes of bob there: from 1.5 GiB to 10.7 GiB");
}

TEST(NeighbourGrew, WhoWasThereFromTheBeginningDidNotGrow) {
  const auto steady = minute_of_samples({.used_mib = 14'100, .own_mib = 2000},
                                        {.used_mib = 24'371, .own_mib = 12'288});
  EXPECT_THAT(rules_for(failed_beside_others(), steady, torch_message),
              ElementsAre("cuda_out_of_memory"));
}

TEST(NeighbourGrew, WhatWouldNotHaveFittedAnywayIsTheJobsOwn) {
  const RunRecord run = failed_beside_others();
  const std::string more = "Tried to allocate 23.00 GiB";
  std::string text = torch_message;
  text.replace(text.find("Tried to allocate 2.00 GiB"), 26, more);
  EXPECT_THAT(rules_for(run, grown_neighbour, text), Not(Contains("neighbour_grew")));
  text.replace(text.find(more), more.size(), "Tried to allocate 50.00 GiB");
  EXPECT_THAT(rules_for(run, grown_neighbour, text), Not(Contains("neighbour_grew")))
      << "larger than all";
}

TEST(NeighbourGrew, OfAnotherDeathTheNeighbourIsInnocent) {
  EXPECT_THAT(rules_for(failed_beside_others(), grown_neighbour, "KeyError: 'x'\n"),
              ElementsAre("last_lines"));
  RunRecord stopped = failed_beside_others();
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(rules_for(stopped, grown_neighbour, torch_message), Not(Contains("neighbour_grew")));
  EXPECT_THAT(rules_for(failed_beside_others({}), grown_neighbour, torch_message), IsEmpty())
      << "it ended well";
  RunRecord later = failed_beside_others();
  later.end->at.unix_ms += 3'600'000;
  EXPECT_THAT(rules_for(later, grown_neighbour, torch_message), ElementsAre("cuda_out_of_memory"))
      << "the device was not seen any more when it died";
}

TEST(NeighbourGrew, AMessageWithoutNumbersLeavesADoubt) {
  const RunRecord run = failed_beside_others();
  const LogText log("RuntimeError: CUDA error: out of memory\n");
  const Findings findings =
      explain_postmortem({.run = run, .neighbours = growths_in(grown_neighbour), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].rule, "neighbour_grew");
  EXPECT_THAT(findings[1].doubt.english(), HasSubstr("no numbers"));
}

TEST(NeighbourGrew, OnSeveralDevicesTheMessagesOwnCounts) {
  RunRecord run = failed_beside_others();
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).gpu("GPU-B", 24_GiB).build();
  run.manifest.promised.resize(2);
  std::vector<Sample> samples = grown_neighbour;
  for (Sample& sample : samples) {
    sample.devices.insert(sample.devices.begin(), DeviceSample{});
    sample.devices[0].memory_used = 8_GiB;
    sample.processes[0].device = 1;
  }
  EXPECT_THAT(rules_for(run, samples, torch_message), ElementsAre("cuda_out_of_memory"))
      << "GPU 0 was short of memory, GPU 1 had the neighbour";
  std::string text = torch_message;
  text.replace(text.find("GPU 0 has"), 9, "GPU 1 has");
  EXPECT_THAT(rules_for(run, samples, text), ElementsAre("cuda_out_of_memory", "neighbour_grew"));
}

TEST(NeighbourGrew, WithoutItsOutputItIsAGuess) {
  const RunRecord run = failed_beside_others();
  const Findings findings =
      explain_postmortem({.run = run, .neighbours = growths_in(grown_neighbour)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "neighbour_grew");
  EXPECT_EQ(findings[0].severity, Severity::warning);
  EXPECT_THAT(findings[0].doubt.english(), HasSubstr("its output was not kept"));
  EXPECT_EQ(cause_to_tell(findings), std::nullopt);
  const auto roomy =
      minute_of_samples({.used_mib = 4096, .own_mib = 2048}, {.used_mib = 14'336, .own_mib = 2048});
  EXPECT_THAT(explain_postmortem({.run = run, .neighbours = growths_in(roomy)}), IsEmpty())
      << "there was room left";
  const Findings killed = explain_postmortem({.run = failed_beside_others({.signal = SIGSEGV}),
                                              .neighbours = growths_in(grown_neighbour)});
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0].rule, "segmentation_fault");
}

}  // namespace
}  // namespace berth
