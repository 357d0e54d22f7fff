#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A job that works on the CPU. `change` adds to its activity.
ActivityBuilder cpu_job(const std::function<void(Activity&)>& change = [](Activity&) {}) {
  auto job = ActivityBuilder().busy(0).main(480).each([](ActivitySample& step) {
    step.processes[0].devices.clear();
    step.processes[0].gpu_memory = Absent::not_sampled;
  });
  job.with([](Activity& one) {
    one.cpu_side = CpuFacts{.device_files = std::uint64_t{0}, .age = Milliseconds(600'000)};
  });
  return job.with(change);
}

TEST(OnCpu, IsSaidOfAProgramThatComputesAndHasOpenedNoDevice) {
  const Finding found = first_finding(cpu_job());
  EXPECT_EQ(found.rule, "on_cpu");
  EXPECT_THAT(evidence_in(found), HasSubstr("/dev/nvidia* open (/proc/PID/fd)"));
  EXPECT_THAT(steps_in(found), HasSubstr("model.to(device)"));
  EXPECT_TRUE(found.doubt.empty());
  EXPECT_THAT(rules_that_speak(cpu_job()), Not(Contains("nothing_running"))) << "said once";
}

TEST(OnCpu, TellsWhyWhereTheProgramShowsIt) {
  const Finding hidden = first_finding(cpu_job([](Activity& one) {
    one.cpu_side->visible_devices = std::string();
    one.cpu_side->hiding_variable = "CUDA_VISIBLE_DEVICES";
  }));
  EXPECT_THAT(evidence_in(hidden), HasSubstr("CUDA_VISIBLE_DEVICES is empty"));
  EXPECT_THAT(steps_in(hidden), HasSubstr("unset CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(steps_in(hidden), Not(HasSubstr("model.to(device)")));
  const Finding built =
      first_finding(cpu_job([](Activity& one) { one.cpu_side->framework_for_cpu = true; }));
  EXPECT_THAT(evidence_in(built), HasSubstr("a build for the CPU alone"));
  EXPECT_THAT(steps_in(built), HasSubstr("berth doctor"));
}

TEST(OnCpu, SpeaksOfTheMakerWhoseDevicesTheJobHas) {
  const Finding hidden = first_finding(cpu_job([](Activity& one) {
    one.cpu_side->kind = DeviceKind::ascend_npu;
    one.cpu_side->visible_devices = std::string("-1");
    one.cpu_side->hiding_variable = "ASCEND_RT_VISIBLE_DEVICES";
  }));
  EXPECT_THAT(evidence_in(hidden), HasSubstr("/dev/davinci* open"));
  EXPECT_THAT(evidence_in(hidden), HasSubstr("ASCEND_RT_VISIBLE_DEVICES is -1"));
  EXPECT_THAT(steps_in(hidden), HasSubstr("unset ASCEND_RT_VISIBLE_DEVICES"));
  const Finding built = first_finding(cpu_job([](Activity& one) {
    one.cpu_side->kind = DeviceKind::ascend_npu;
    one.cpu_side->framework_for_cpu = true;
  }));
  EXPECT_THAT(steps_in(built), HasSubstr("install torch_npu"));
  const Finding left =
      first_finding(cpu_job([](Activity& one) { one.cpu_side->kind = DeviceKind::intel_gpu; }));
  EXPECT_THAT(steps_in(left), HasSubstr("device = \"xpu\""));
}

TEST(OnCpu, IsSaidOfAProgramThatGetsHardlyAnyOfAFullCpu) {
  auto starved = cpu_job().main(20).each(
      [](ActivitySample& step) { step.processes[0].run_delay = Milliseconds(470); });
  EXPECT_EQ(first_finding(starved).rule, "on_cpu");
}

TEST(OnCpu, IsNoneThatHasAFileOpenThatRestsOrThatCannotBeRead) {
  const auto said = [](const std::function<void(Activity&)>& change) {
    return rules_that_speak(cpu_job(change));
  };
  EXPECT_THAT(said([](Activity& one) { one.cpu_side->device_files = std::uint64_t{1}; }),
              Not(Contains("on_cpu")));
  EXPECT_THAT(said([](Activity& one) { one.cpu_side->device_files = Absent::no_permission; }),
              Not(Contains("on_cpu")));
  EXPECT_THAT(said([](Activity& one) { one.simulated = "lab-4"; }), Not(Contains("on_cpu")));
  EXPECT_THAT(rules_that_speak(cpu_job().main(5).workers(0, 0)), Not(Contains("on_cpu")));
  const Finding young =
      first_finding(cpu_job([](Activity& one) { one.cpu_side->age = Milliseconds(4000); }));
  EXPECT_THAT(young.doubt.english(), HasSubstr("it began 4.0 s ago"));
}

TEST(NoKernelEver, IsSaidWhereTheRecordOfAllTheTimeShowsNone) {
  const auto held = [](const WholeLife& life) {
    return ActivityBuilder().busy(0).main(480).with([&](Activity& one) { one.life = life; });
  };
  const WholeLife idle{.span = Milliseconds(600'000), .looks = 590, .memory = 2_GiB};
  const Finding found = first_finding(held(idle));
  EXPECT_EQ(found.rule, "no_kernel_ever");
  EXPECT_THAT(evidence_in(found), HasSubstr("in 590 looks over 600.0 s its utilisation was 0 %"));
  EXPECT_THAT(evidence_in(found), HasSubstr("2.0 GiB"));
  EXPECT_THAT(found.doubt.english(), HasSubstr("whole percent"));
  auto worked = idle;
  worked.busiest = Percent(1);
  EXPECT_THAT(rules_that_speak(held(worked)), Not(Contains("no_kernel_ever")));
  auto young = idle;
  young.span = Milliseconds(20'000);
  EXPECT_THAT(rules_that_speak(held(young)), Not(Contains("no_kernel_ever")));
  EXPECT_THAT(rules_that_speak(held(idle).busy(3)), Not(Contains("no_kernel_ever")));
}

TEST(MemoryHeldIdle, SaysThatOnlyThisTimeWasLookedAt) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  EXPECT_THAT(first_finding(idle).doubt.english(), HasSubstr("what it did before is not known"));
}

TEST(NothingRunning, IsSaidOfAGpuThatNobodyIsOn) {
  auto empty = ActivityBuilder().busy(0).each([](ActivitySample& step) { step.processes.clear(); });
  const Finding found = first_finding(empty);
  EXPECT_EQ(found.rule, "nothing_running");
  EXPECT_THAT(evidence_in(found), HasSubstr("the driver lists no process on it"));
  EXPECT_THAT(steps_in(found), HasSubstr("berth runs"));
  EXPECT_EQ(answer(empty.device([](DeviceStep& one) { one.others = std::uint64_t{1}; })),
            "nothing");
}

TEST(NothingRunning, WhoIsThereThatWasNotToldIsNotNobody) {
  auto still = ActivityBuilder().busy(0).each([](ActivitySample& step) { step.processes.clear(); });
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = std::uint64_t{0}; })),
            "nothing_running");
  EXPECT_EQ(answer(still.device([](DeviceStep& one) { one.others = Absent::no_permission; })),
            "nothing");
}

TEST(NothingRunning, IsNotSaidOfARunTooShortToTell) {
  const auto of_a_record = [](int steps) {
    auto run = ActivityBuilder(steps).busy(0).each([](ActivitySample& step) {
      step.processes.resize(1);
      step.processes[0].devices.clear();
      step.processes[0].gpu_memory = Bytes(0);
    });
    return rules_that_speak(run.with([](Activity& one) { one.taken_by = TakenBy::run_samples; }));
  };
  EXPECT_THAT(of_a_record(20), testing::Contains("nothing_running"));
  EXPECT_THAT(of_a_record(4), testing::Not(testing::Contains("nothing_running")))
      << "it may have come and gone between two looks";
}

TEST(MemoryHeldIdle, IsAProgramThatRestsWithTheMemoryInItsHands) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  const Finding found = first_finding(idle);
  EXPECT_EQ(found.rule, "memory_held_idle");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("30.0 GiB of the GPU's memory is held by process 100 (python)"));
  EXPECT_THAT(steps_in(found), HasSubstr("py-spy dump --pid 100"));
}

TEST(MemoryHeldIdle, WhatThinksOnTheCpuOrWaitsForTheDiskIsNoIdleNotebook) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  EXPECT_THAT(rules_that_speak(idle.main(300)), Not(Contains("memory_held_idle")));
  auto reads = ActivityBuilder().busy(0).main(1).workers(2, 0, 0, 'D');
  EXPECT_THAT(rules_that_speak(reads), Not(Contains("memory_held_idle")));
}

TEST(Swapping, IsSaidOfMemoryThatIsReadBack) {
  auto swaps =
      ActivityBuilder().busy(30).main(100).workers(2, 50, 0, 'D').each([](ActivitySample& step) {
        for (ProcessStep& one : step.processes) {
          one.swapped = 4_GiB;
          one.major_faults = std::uint64_t{400};
        }
        step.host.swap_in = 20_MiB;
      });
  const Finding found = first_finding(swaps);
  EXPECT_EQ(found.rule, "swapping");
  EXPECT_THAT(evidence_in(found), HasSubstr("12.0 GiB of the job's memory is swapped out"));
  EXPECT_THAT(evidence_in(found), HasSubstr("the machine reads 40 MiB/s back"));
  EXPECT_THAT(steps_in(found), HasSubstr("ps aux --sort=-rss"));
  const auto rests = [](ActivitySample& step) {
    step.host.swap_in = Bytes{0};
    for (ProcessStep& one : step.processes) one.major_faults = std::uint64_t{0};
  };
  EXPECT_THAT(rules_that_speak(swaps.each(rests)), Not(Contains("swapping")))
      << "what was put away long ago costs nothing";
}

}  // namespace
}  // namespace berth::bottleneck
