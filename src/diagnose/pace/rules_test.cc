// Each rule with a series that it finds something in, and one that is nearly so and healthy.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "diagnose/pace/activity_builder_test.h"
#include "diagnose/pace/pace.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

std::string answer(const Activity& activity) {
  const Pace pace = explain_pace(activity);
  return pace.findings.empty() ? "nothing" : pace.findings.front().rule;
}
std::string answer(const ActivityBuilder& builder) { return answer(builder.build()); }

TEST(PaceRules, AWellUsedGpuHasNoFinding) { EXPECT_EQ(answer(ActivityBuilder()), "nothing"); }

TEST(PaceRules, NothingRunning) {
  auto empty = ActivityBuilder().busy(0).each([](Step& step) { step.processes.clear(); });
  EXPECT_EQ(answer(empty), "nothing_running");
  EXPECT_EQ(answer(empty.device([](DeviceStep& one) { one.others = std::uint64_t{1}; })),
            "nothing");
}

TEST(PaceRules, MemoryHeldIdle) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  EXPECT_EQ(answer(idle), "memory_held_idle");
  // What thinks on the CPU is no idle notebook.
  EXPECT_NE(answer(idle.main(300)), "memory_held_idle");
}

TEST(PaceRules, ComputesOnCpu) {
  auto computes = ActivityBuilder().busy(0).main(480, {480, 480, 470}).workers(0, 0);
  EXPECT_EQ(answer(computes), "computes_on_cpu");
  // The same threads beside a GPU that works are its own affair.
  EXPECT_EQ(answer(computes.busy(95)), "nothing");
}

TEST(PaceRules, LoaderCpuBound) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(4, 490).cpus(4, 4);
  EXPECT_EQ(answer(starved), "loader_cpu_bound");
  EXPECT_EQ(answer(starved.busy(96).main(480)), "nothing") << "busy workers that are fast enough";
}

TEST(PaceRules, LoaderTooFewWorkers) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(2, 490).cpus(32, 32);
  EXPECT_EQ(answer(starved), "loader_too_few_workers");
  EXPECT_EQ(answer(starved.workers(2, 200)), "nothing") << "workers that rest are enough";
}

TEST(PaceRules, ThreadsOfTheMainProcessThatLoadAreWorkersToo) {
  auto starved = ActivityBuilder().busy(40).main(200, {490, 490}).workers(0, 0);
  EXPECT_EQ(answer(starved.with([](Activity& one) { one.framework = Framework::tensorflow; })),
            "loader_too_few_workers");
}

TEST(PaceRules, LoaderStorageBound) {
  auto slow = ActivityBuilder().busy(30).main(150).workers(4, 40, 0, 'D').each([](Step& step) {
    for (ProcessStep& one : step.processes) one.storage_read = one.read = Bytes{20'000'000};
  });
  EXPECT_EQ(answer(slow), "loader_storage_bound");
  EXPECT_EQ(answer(slow.busy(95).main(480)), "nothing") << "it reads a lot and the GPU never waits";
}

TEST(PaceRules, SerialPython) {
  auto serial = ActivityBuilder().busy(40).main(495).workers(0, 0);
  EXPECT_EQ(answer(serial), "serial_python");
  // CUDA's waiting spins while kernels run: a thread that is as busy as the GPU says nothing.
  EXPECT_EQ(answer(serial.main(200)), "nothing");
}

TEST(PaceRules, SerialPythonIsNotWhatWorkersThatNeverRestWaitFor) {
  EXPECT_NE(answer(ActivityBuilder().busy(40).main(200).workers(2, 495)), "serial_python");
}

TEST(PaceRules, HostDeviceCopies) {
  auto copies = ActivityBuilder().busy(35).main(495).device(
      [](DeviceStep& one) { one.pcie_received = Bytes{6'000'000'000}; });
  EXPECT_EQ(answer(copies), "host_device_copies");
  EXPECT_EQ(answer(copies.busy(95)), "nothing") << "copies beside kernels cost nothing";
}

TEST(PaceRules, SmallKernels) {
  auto small = ActivityBuilder().main(495).device([](DeviceStep& one) {
    one.utilization = Percent(85);
    one.sm = Percent(8);
    one.tensor = Percent(2);
    one.dram = Percent(6);
    one.power = 160_watts;
  });
  EXPECT_EQ(answer(small), "small_kernels");
  const auto fuller = [](DeviceStep& one) { one.sm = Percent(50); };
  EXPECT_EQ(answer(small.device(fuller)), "nothing");
}

TEST(PaceRules, SmallKernelsByPowerAloneSayThatTheyMayBeWrong) {
  const auto old_card = ActivityBuilder().device([](DeviceStep& one) {
    one.sm = one.tensor = one.dram = Absent::unsupported;
    one.power = 150_watts;
  });
  const Pace pace = explain_pace(old_card.build());
  ASSERT_FALSE(pace.findings.empty());
  EXPECT_EQ(pace.findings[0].rule, "small_kernels");
  EXPECT_FALSE(pace.findings[0].doubt.empty());
}

TEST(PaceRules, MemoryBound) {
  auto bound = ActivityBuilder().device([](DeviceStep& one) {
    one.dram = Percent(85);
    one.tensor = Percent(5);
  });
  EXPECT_EQ(answer(bound), "memory_bound");
  EXPECT_EQ(explain_pace(bound.build()).findings[0].severity, Severity::hint);
  EXPECT_EQ(answer(bound.device([](DeviceStep& one) { one.tensor = Percent(50); })), "nothing");
}

TEST(PaceRules, ThrottledPower) {
  auto capped = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.power = true};
    one.clock_sm = 1000_MHz;
  });
  EXPECT_EQ(answer(capped), "throttled_power");
  EXPECT_EQ(answer(capped.device([](DeviceStep& one) { one.clock_sm = 1750_MHz; })), "nothing")
      << "a card that works hard is at its limit, and nearly as fast";
}

TEST(PaceRules, ACardAtThePowerThatItWasMadeForIsWell) {
  auto full = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.power = true};
    one.clock_sm = 1500_MHz;
    one.power = Milliwatts(700'000);
  });
  EXPECT_EQ(answer(full), "nothing") << "matrix products at 700 of 700 W";
  Activity lowered = full.build();
  lowered.devices[0].power_limit = 500_watts;
  const Findings findings = explain_pace(lowered).findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "throttled_power");
}

TEST(PaceRules, WhoIsThereThatWasNotToldIsNotNobody) {
  auto still = ActivityBuilder().busy(0).each([](Step& step) { step.processes.clear(); });
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = std::uint64_t{0}; })),
            "nothing_running");
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = Absent::no_permission; })),
            "nothing");
}

TEST(PaceRules, OfARecordsTreeNothingIsSaidThatNobodyLookedAt) {
  const auto of_a_record = [](double busy, std::int64_t cpu_ms) {
    Activity activity = ActivityBuilder(120).busy(busy).build();
    activity.taken_by = TakenBy::run_samples;
    for (Step& step : activity.steps) {
      step.processes.resize(1);
      step.processes[0].threads = Absent::not_sampled;
      step.processes[0].run_delay = Absent::not_sampled;
      step.processes[0].state = Absent::not_sampled;
      step.processes[0].cpu = Milliseconds(cpu_ms);
    }
    return explain_pace(activity).findings;
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

TEST(PaceRules, ThrottledHeat) {
  auto hot = ActivityBuilder().device([](DeviceStep& one) {
    one.throttle = Throttle{.heat = true};
    one.clock_sm = 900_MHz;
  });
  EXPECT_EQ(answer(hot), "throttled_heat");
  EXPECT_EQ(answer(hot.device([](DeviceStep& one) { one.clock_sm = 1850_MHz; })), "nothing");
}

TEST(PaceRules, WaitingForRanks) {
  int number = 0;
  auto waits = ActivityBuilder().with([](Activity& one) { one.ranks = std::uint64_t{8}; });
  waits.device([&](DeviceStep& one) {
    one.utilization = Percent(100);
    if (number++ % 2 == 0) return;
    one.sm = Percent(4);
    one.tensor = one.dram = Percent(1);
    one.power = 150_watts;
  });
  EXPECT_EQ(answer(waits), "waiting_for_ranks");
  EXPECT_NE(answer(waits.with([](Activity& one) { one.ranks = std::uint64_t{1}; })),
            "waiting_for_ranks");
}

TEST(PaceRules, PeriodicPauses) {
  const auto paused = [](double between) {
    int number = 0;
    return ActivityBuilder(60).device(
        [&](DeviceStep& one) { one.utilization = Percent(number++ % 12 >= 8 ? 0 : between); });
  };
  EXPECT_EQ(answer(paused(96)), "periodic_pauses");
  EXPECT_NE(answer(paused(50)), "periodic_pauses") << "it stands still between them, too";
}

TEST(PaceRules, PausesInWhichWorkersNeverRestAreTheLoaders) {
  int number = 0;
  auto paused = ActivityBuilder(60).workers(2, 495).device(
      [&](DeviceStep& one) { one.utilization = Percent(number++ % 12 >= 8 ? 0 : 96); });
  EXPECT_EQ(answer(paused), "loader_too_few_workers");
}

TEST(PaceRules, TooFewCpus) {
  auto crowded = ActivityBuilder().busy(30).main(120).workers(6, 60, 430).cpus(64, 1);
  EXPECT_EQ(answer(crowded), "too_few_cpus");
  EXPECT_NE(answer(crowded.workers(6, 60, 0)), "too_few_cpus") << "nobody waits for a CPU";
}

TEST(PaceRules, SharedWithOthers) {
  auto shared = ActivityBuilder().device([](DeviceStep& one) {
    one.others = std::uint64_t{2};
    one.others_utilization = Percent(45);
  });
  EXPECT_EQ(answer(shared), "shared_with_others");
  EXPECT_EQ(answer(shared.device([](DeviceStep& one) { one.others_utilization = Percent(5); })),
            "nothing");
}

TEST(PaceRules, Swapping) {
  auto swaps = ActivityBuilder().busy(30).main(100).workers(2, 50, 0, 'D').each([](Step& step) {
    for (ProcessStep& one : step.processes) {
      one.swapped = 4_GiB;
      one.major_faults = std::uint64_t{400};
    }
    step.host.swap_in = 20_MiB;
  });
  EXPECT_EQ(answer(swaps), "swapping");
  const auto rests = [](Step& step) {
    step.host.swap_in = Bytes{0};
    for (ProcessStep& one : step.processes) one.major_faults = std::uint64_t{0};
  };
  EXPECT_NE(answer(swaps.each(rests)), "swapping") << "what was put away long ago costs nothing";
}

TEST(PaceRules, WhatCouldNotBeReadMakesADoubtAndNoGuess) {
  auto blind = ActivityBuilder().busy(40).main(495).workers(0, 0).each([](Step& step) {
    for (ProcessStep& one : step.processes) {
      one.storage_read = one.read = one.written = Absent::no_permission;
    }
  });
  const Pace pace = explain_pace(blind.build());
  ASSERT_FALSE(pace.findings.empty());
  EXPECT_EQ(pace.findings[0].rule, "serial_python");
  EXPECT_FALSE(pace.findings[0].doubt.empty());
  blind.each([](Step& step) { step.processes.clear(); });
  blind.device([](DeviceStep& one) { one.utilization = Absent::failed; });
  EXPECT_THAT(explain_pace(blind.build()).findings, IsEmpty());
}

TEST(PaceRules, AnEmptySeriesHasNoFindings) {
  EXPECT_THAT(explain_pace(Activity{}).findings, IsEmpty());
}

TEST(PaceRules, EveryFindingHasEvidenceAndAStepAndAKnownName) {
  std::set<std::string> names(pace_rule_names().begin(), pace_rule_names().end());
  EXPECT_EQ(names.size(), 17U);
  for (const Framework framework :
       {Framework::unknown, Framework::torch, Framework::tensorflow, Framework::jax}) {
    auto serial = ActivityBuilder().busy(40).main(495).workers(0, 0).with(
        [&](Activity& one) { one.framework = framework; });
    for (const Finding& finding : explain_pace(serial.build()).findings) {
      EXPECT_TRUE(names.contains(finding.rule)) << finding.rule;
      EXPECT_FALSE(finding.evidence.empty());
      EXPECT_FALSE(finding.steps.empty());
      EXPECT_FALSE(finding.meaning.empty());
    }
  }
}

TEST(PaceAdvice, SpeaksTheWordsOfTheFramework) {
  const auto words = [](Framework framework) {
    std::string text;
    const Pace pace = explain_pace(ActivityBuilder()
                                       .busy(45)
                                       .main(230)
                                       .workers(2, 490)
                                       .with([&](Activity& one) { one.framework = framework; })
                                       .build());
    for (const Finding::Step& step : pace.findings.at(0).steps) {
      text += step.what.english() + "\n";
    }
    return text;
  };
  EXPECT_THAT(words(Framework::torch), testing::HasSubstr("num_workers=15"));
  EXPECT_THAT(words(Framework::tensorflow), testing::HasSubstr("tf.data.AUTOTUNE"));
  EXPECT_THAT(words(Framework::jax), testing::HasSubstr("worker_count"));
  EXPECT_THAT(words(Framework::unknown), Not(testing::HasSubstr("num_workers")));
}

TEST(Features, APcieLinkCarriesByGenerationAndWidth) {
  const auto link = [](std::uint64_t generation, std::uint64_t width) {
    return DeviceFacts{.pcie_generation = generation, .pcie_width = width};
  };
  EXPECT_NEAR(*pcie_capacity(link(3, 16)), 15.76e9, 1e7);
  EXPECT_NEAR(*pcie_capacity(link(5, 8)), 31.5e9, 1e8);
  EXPECT_FALSE(pcie_capacity(link(99, 16)));
  EXPECT_FALSE(pcie_capacity(DeviceFacts{}));
}

}  // namespace
}  // namespace berth::pace
