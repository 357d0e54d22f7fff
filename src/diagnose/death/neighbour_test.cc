// The neighbour who grew: the run's samples, and what they say together with how it ended.

#include "diagnose/death/neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/death.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime first_second{1'763'690'000'000};
constexpr WallTime last_second{1'763'690'060'000};
constexpr std::uint64_t mebibyte = 1 << 20;

/// What is in use on the one device, the run's own, and whose the rest is.
struct Second {
  std::uint64_t used_mib = 0;
  std::uint64_t own_mib = 0;
  std::vector<std::pair<std::string, std::uint64_t>> users_mib = {};
};

Sample sample_of_second(std::size_t second, const Second& one) {
  Sample sample{.at = {first_second.unix_ms + static_cast<std::int64_t>(second) * 1000}};
  sample.devices.resize(1);
  sample.devices[0].memory_used = Bytes(one.used_mib * mebibyte);
  if (one.own_mib > 0) {
    sample.processes.push_back({.device = 0, .pid = 4711, .memory = Bytes(one.own_mib * mebibyte)});
  }
  for (const auto& [user, held] : one.users_mib) {
    sample.others.push_back({.device = 0, .user = user, .memory = Bytes(held * mebibyte)});
  }
  return sample;
}

/// A minute in which both grow evenly to what they had last.
std::vector<Sample> minute(const Second& first, const Second& last) {
  std::vector<Sample> samples;
  for (std::size_t second = 0; second < 60; ++second) {
    const auto between = [&](std::uint64_t from, std::uint64_t to) {
      return from + (to - from) * std::min<std::size_t>(second, 50) / 50;
    };
    Second now{.used_mib = between(first.used_mib, last.used_mib),
               .own_mib = between(first.own_mib, last.own_mib),
               .users_mib = second < 30 ? first.users_mib : last.users_mib};
    samples.push_back(sample_of_second(second, now));
  }
  return samples;
}

std::vector<NeighbourGrowth> growths_in(const std::vector<Sample>& samples) {
  NeighbourWatch watch;
  for (const Sample& sample : samples) watch.add(sample);
  return watch.growths();
}

RunRecord failed_run(Exit exit = {.code = 1}) {
  RunRecord run;
  run.manifest.user = "ada";
  run.manifest.started = first_second;
  run.manifest.job = ProcessId{.pid = 4711};
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).build();
  run.manifest.promised = {std::nullopt};
  run.state = RunState::ended;
  run.end = RunEnd{.at = last_second, .exit = exit};
  return run;
}

/// Own 12 GiB; others from 2 to 11.8 GiB of 24.
const std::vector<Sample> grown = minute({.used_mib = 14 * 1024, .own_mib = 12 * 1024},
                                         {.used_mib = 24'371, .own_mib = 12 * 1024});

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
       explain_death({.run = run, .neighbours = growths_in(samples), .log = &log})) {
    EXPECT_FALSE(finding.evidence.empty());
    rules.push_back(finding.rule);
  }
  return rules;
}

TEST(NeighbourWatch, IsWhatIsInUseLessTheRunsOwn) {
  const auto growths = growths_in(grown);
  ASSERT_EQ(growths.size(), 1U);
  EXPECT_EQ(growths[0].before, Bytes((2 * 1024 + 401) * mebibyte))
      << "the most of the first three looks";
  EXPECT_EQ(growths[0].last, Bytes((24'371 - 12 * 1024) * mebibyte));
  EXPECT_THAT(growths_in(minute({.used_mib = 3072, .own_mib = 1024},
                                {.used_mib = 22 * 1024, .own_mib = 20 * 1024})),
              IsEmpty())
      << "all that grew was the run's own";
}

TEST(NeighbourWatch, AProcessThatEndsIsNotTakenForAGrowingNeighbour) {
  std::vector<Sample> samples = minute({.used_mib = 20 * 1024, .own_mib = 18 * 1024},
                                       {.used_mib = 20 * 1024, .own_mib = 18 * 1024});
  // The driver lists it no more and its memory is not free yet; then one of two goes that way.
  for (std::size_t at = 55; at < 60; ++at)
    samples[at] = sample_of_second(at, {.used_mib = 20 * 1024});
  EXPECT_THAT(growths_in(samples), IsEmpty());
  samples[57].processes.push_back({.device = 0, .pid = 4712, .memory = 1_GiB});
  EXPECT_THAT(growths_in(samples), IsEmpty());
}

TEST(NeighbourWatch, OneOddLookAndUnknownMemoryProveNothing) {
  std::vector<Sample> odd =
      minute({.used_mib = 4096, .own_mib = 2048}, {.used_mib = 4096, .own_mib = 2048});
  odd[58] = sample_of_second(58, {.used_mib = 20 * 1024, .own_mib = 2048});
  EXPECT_THAT(growths_in(odd), IsEmpty()) << "its own has not been listed yet";
  std::vector<Sample> unknown = grown;
  for (Sample& sample : unknown) sample.processes[0].memory = Absent::unsupported;
  EXPECT_THAT(growths_in(unknown), IsEmpty());
}

TEST(DeathByNeighbour, WhoTookTheMemoryWhileItRanIsTheCause) {
  const RunRecord run = failed_run();
  EXPECT_THAT(rules_for(run, grown, torch_message),
              ElementsAre("cuda_out_of_memory", "neighbour_grew"));
  const LogText log(torch_message);
  const Findings findings =
      explain_death({.run = run, .neighbours = growths_in(grown), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].evidence[0].english(),
            "others on GPU 0 grew from 2.4 GiB to 11.8 GiB of its 24.0 GiB");
  EXPECT_FALSE(findings[1].doubt.empty()) << "nobody is named";
}

TEST(DeathByNeighbour, TheUserIsNamedWhereTheDriverListsHisProcesses) {
  const RunRecord run = failed_run();
  const auto samples = minute(
      {.used_mib = 14 * 1024, .own_mib = 12 * 1024, .users_mib = {{"ada", 512}, {"bob", 1536}}},
      {.used_mib = 24'371, .own_mib = 12 * 1024, .users_mib = {{"ada", 512}, {"bob", 11'000}}});
  const LogText log(torch_message);
  const Findings findings =
      explain_death({.run = run, .neighbours = growths_in(samples), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings[1].doubt.empty());
  ASSERT_EQ(findings[1].evidence.size(), 3U) << "who did not grow is not named";
  EXPECT_EQ(findings[1].evidence[2].english(), "processes of bob there: from 1.5 GiB to 10.7 GiB");
}

TEST(DeathByNeighbour, WhoWasThereFromTheBeginningDidNotGrow) {
  const auto steady =
      minute({.used_mib = 14'100, .own_mib = 2000}, {.used_mib = 24'371, .own_mib = 12'288});
  EXPECT_THAT(rules_for(failed_run(), steady, torch_message), ElementsAre("cuda_out_of_memory"));
}

TEST(DeathByNeighbour, WhatWouldNotHaveFittedAnywayIsTheJobsOwn) {
  const RunRecord run = failed_run();
  const std::string more = "Tried to allocate 23.00 GiB";
  std::string text = torch_message;
  text.replace(text.find("Tried to allocate 2.00 GiB"), 26, more);
  EXPECT_THAT(rules_for(run, grown, text), Not(Contains("neighbour_grew")));
  text.replace(text.find(more), more.size(), "Tried to allocate 50.00 GiB");
  EXPECT_THAT(rules_for(run, grown, text), Not(Contains("neighbour_grew"))) << "larger than all";
}

TEST(DeathByNeighbour, OfAnotherDeathTheNeighbourIsInnocent) {
  EXPECT_THAT(rules_for(failed_run(), grown, "KeyError: 'x'\n"), ElementsAre("last_lines"));
  RunRecord stopped = failed_run();
  stopped.end->because = std::string(end_cause::stopped);
  EXPECT_THAT(rules_for(stopped, grown, torch_message), Not(Contains("neighbour_grew")));
  EXPECT_THAT(rules_for(failed_run({}), grown, torch_message), IsEmpty()) << "it ended well";
  RunRecord later = failed_run();
  later.end->at.unix_ms += 3'600'000;
  EXPECT_THAT(rules_for(later, grown, torch_message), ElementsAre("cuda_out_of_memory"))
      << "the device was not seen any more when it died";
}

TEST(DeathByNeighbour, AMessageWithoutNumbersLeavesADoubt) {
  const RunRecord run = failed_run();
  const LogText log("RuntimeError: CUDA error: out of memory\n");
  const Findings findings =
      explain_death({.run = run, .neighbours = growths_in(grown), .log = &log});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].rule, "neighbour_grew");
  EXPECT_THAT(findings[1].doubt.english(), HasSubstr("no numbers"));
}

TEST(DeathByNeighbour, OnSeveralDevicesTheMessagesOwnCounts) {
  RunRecord run = failed_run();
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).gpu("GPU-B", 24_GiB).build();
  run.manifest.promised.resize(2);
  std::vector<Sample> samples = grown;
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

TEST(DeathByNeighbour, WithoutItsOutputItIsAGuess) {
  const RunRecord run = failed_run();
  const Findings findings = explain_death({.run = run, .neighbours = growths_in(grown)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "neighbour_grew");
  EXPECT_EQ(findings[0].severity, Severity::warning);
  EXPECT_THAT(findings[0].doubt.english(), HasSubstr("its output was not kept"));
  EXPECT_EQ(cause_to_tell(findings), std::nullopt);
  const auto roomy =
      minute({.used_mib = 4096, .own_mib = 2048}, {.used_mib = 14'336, .own_mib = 2048});
  EXPECT_THAT(explain_death({.run = run, .neighbours = growths_in(roomy)}), IsEmpty())
      << "there was room left";
  const Findings killed =
      explain_death({.run = failed_run({.signal = SIGSEGV}), .neighbours = growths_in(grown)});
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0].rule, "segmentation_fault");
}

}  // namespace
}  // namespace berth
