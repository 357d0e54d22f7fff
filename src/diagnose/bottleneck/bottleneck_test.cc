// Claims that hold for all rules together. Each rule has its own tests in rules/.

#include "diagnose/bottleneck/bottleneck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::IsEmpty;

TEST(Bottleneck, AWellUsedGpuHasNoFinding) { EXPECT_EQ(answer(ActivityBuilder()), "nothing"); }

TEST(Bottleneck, AnEmptySeriesHasNoFindings) {
  EXPECT_THAT(explain_bottleneck(Activity{}).findings, IsEmpty());
}

TEST(Bottleneck, WhatCouldNotBeReadMakesADoubtAndNoGuess) {
  auto blind = ActivityBuilder().busy(40).main(495).workers(0, 0).each([](ActivitySample& step) {
    for (ProcessStep& one : step.processes) {
      one.storage_read = one.read = one.written = Absent::no_permission;
    }
  });
  const Bottleneck bottleneck = explain_bottleneck(blind.build());
  ASSERT_FALSE(bottleneck.findings.empty());
  EXPECT_EQ(bottleneck.findings[0].rule, "serial_python");
  EXPECT_FALSE(bottleneck.findings[0].doubt.empty());
  blind.each([](ActivitySample& step) { step.processes.clear(); });
  blind.device([](DeviceStep& one) { one.utilization = Absent::failed; });
  EXPECT_THAT(explain_bottleneck(blind.build()).findings, IsEmpty());
}

TEST(Bottleneck, OfARecordsTreeNothingIsSaidThatNobodyLookedAt) {
  const auto of_a_record = [](double busy, std::int64_t cpu_ms) {
    Activity activity = ActivityBuilder(120).busy(busy).build();
    activity.taken_by = TakenBy::run_samples;
    for (ActivitySample& step : activity.steps) {
      step.processes.resize(1);
      step.processes[0].threads = Absent::not_sampled;
      step.processes[0].run_delay = Absent::not_sampled;
      step.processes[0].state = Absent::not_sampled;
      step.processes[0].cpu = Milliseconds(cpu_ms);
    }
    return explain_bottleneck(activity).findings;
  };
  // Two CPUs of a step of half a second: the process with its loaders, or without.
  for (const Finding& finding : of_a_record(50, 2000)) EXPECT_NE(finding.rule, "serial_python");
  for (const Finding& finding : of_a_record(0, 1000)) EXPECT_NE(finding.rule, "computes_on_cpu");
  const Findings one_cpu = of_a_record(40, 495);
  ASSERT_FALSE(one_cpu.empty());
  EXPECT_EQ(one_cpu[0].rule, "serial_python");
  EXPECT_FALSE(one_cpu[0].doubt.empty());
  for (const auto& step : one_cpu[0].steps)
    EXPECT_EQ(step.command.find("py-spy"), step.command.npos);
}

TEST(Bottleneck, EachNameBelongsToOneRule) {
  std::set<std::string_view> names;
  for (const BottleneckRule& rule : all_rules()) {
    EXPECT_FALSE(names_in(rule.reports).empty());
    for (const std::string_view name : names_in(rule.reports)) {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
}

TEST(Bottleneck, EveryFindingHasEvidenceAndAStep) {
  for (const Framework framework :
       {Framework::unknown, Framework::torch, Framework::tensorflow, Framework::jax}) {
    auto serial = ActivityBuilder().busy(40).main(495).workers(0, 0).with(
        [&](Activity& one) { one.framework = framework; });
    EXPECT_EQ(answer(serial), "serial_python");
  }
}

}  // namespace
}  // namespace berth::bottleneck
