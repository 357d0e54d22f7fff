#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(ComputesOnCpu, IsSaidOfThreadsThatWorkBesideAGpuThatDoesNot) {
  auto computes = ActivityBuilder().busy(0).main(480, {480, 480, 470}).workers(0, 0);
  const Finding found = first_finding(computes);
  EXPECT_EQ(found.rule, "computes_on_cpu");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("process 100 (python) uses 3.8 CPUs itself, in 4 threads that work"));
  EXPECT_THAT(steps_in(found), HasSubstr("model.to(\"cuda\")"));
  // The same threads beside a GPU that works are its own affair.
  EXPECT_EQ(answer(computes.busy(95)), "nothing");
}

TEST(TooFewCpus, IsSaidOfThreadsThatTakeTurns) {
  auto crowded = ActivityBuilder().busy(30).main(120).workers(6, 60, 430).cpus(64, 1);
  const Finding found = first_finding(crowded);
  EXPECT_EQ(found.rule, "too_few_cpus");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("its threads waited for a CPU 84 % of the time in which they had work"));
  EXPECT_THAT(evidence_in(found), HasSubstr("they want 6.1 CPUs, and may use 1.0"));
  EXPECT_THAT(evidence_in(found), HasSubstr("the machine has 64.0 CPUs"));
  EXPECT_THAT(steps_in(found), HasSubstr("taskset -cp 100"));
  crowded.each(
      [](ActivitySample& step) { step.processes[0].involuntary_switches = std::uint64_t{45}; });
  EXPECT_THAT(evidence_in(first_finding(crowded)),
              HasSubstr("with work left they were taken off a CPU 90 times a second"));
}

TEST(TooFewCpus, IsNotSaidWhereNobodyWaitsForOne) {
  auto enough = ActivityBuilder().busy(30).main(120).workers(6, 60).cpus(64, 1);
  EXPECT_THAT(rules_that_speak(enough), Not(Contains("too_few_cpus")));
}

TEST(HostDeviceCopies, IsSaidOfATransferInWhichNoKernelRuns) {
  auto copies = ActivityBuilder().busy(35).main(495).device(
      [](DeviceStep& one) { one.pcie_received = Bytes{6'000'000'000}; });
  const Finding found = first_finding(copies);
  EXPECT_EQ(found.rule, "host_device_copies");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("11.2 GiB/s go to the device, 38 % of what its PCIe link carries"));
  EXPECT_THAT(steps_in(found), HasSubstr("pin_memory=True"));
  EXPECT_EQ(answer(copies.busy(95)), "nothing") << "copies beside kernels cost nothing";
}

TEST(HostDeviceCopies, SayWhichWayTheyGo) {
  auto copies = ActivityBuilder().busy(35).device(
      [](DeviceStep& one) { one.pcie_sent = Bytes{6'000'000'000}; });
  EXPECT_THAT(evidence_in(first_finding(copies)),
              HasSubstr("11.2 GiB/s come back from the device"));
}

TEST(LoaderStorageBound, IsSaidOfLoadersThatStandInDiskWait) {
  auto slow =
      ActivityBuilder().busy(30).main(150).workers(4, 40, 0, 'D').each([](ActivitySample& step) {
        for (ProcessStep& one : step.processes) one.storage_read = one.read = Bytes{20'000'000};
      });
  const Finding found = first_finding(slow);
  EXPECT_EQ(found.rule, "loader_storage_bound");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("4 processes that load stood waiting for storage (state D) in 100 % of the "
                        "looks at them. They used 8 % of a CPU each"));
  EXPECT_THAT(evidence_in(found), HasSubstr("191 MiB/s came from storage"));
  EXPECT_THAT(steps_in(found), HasSubstr("copy the data to a local disk"));
  EXPECT_EQ(answer(slow.busy(95).main(480)), "nothing") << "it reads a lot and the GPU never waits";
}

TEST(LoaderStorageBound, WhatComesFromThePageCacheIsNotTheDisk) {
  auto cached = ActivityBuilder().busy(30).main(150).workers(4, 40).each([](ActivitySample& step) {
    for (ProcessStep& one : step.processes) one.read = Bytes{20'000'000};
  });
  EXPECT_THAT(rules_that_speak(cached), Not(Contains("loader_storage_bound")));
}

TEST(LoaderTooFewWorkers, IsSaidOfWorkersThatNeverRestBesideCpusThatDo) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(2, 490).cpus(32, 32);
  const Finding found = first_finding(starved);
  EXPECT_EQ(found.rule, "loader_too_few_workers");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("the job may use 32.0 CPUs, and 92 % of them are left over"));
  EXPECT_THAT(steps_in(found), HasSubstr("num_workers=31"));
  EXPECT_EQ(answer(starved.workers(2, 200)), "nothing") << "workers that rest are enough";
}

TEST(LoaderTooFewWorkers, AsksForMoreThanThereAre) {
  const auto starved = ActivityBuilder().busy(45).main(60).workers(1, 490).cpus(2, 2).with(
      [](Activity& one) { one.framework = Framework::torch; });
  const Finding found = first_finding(starved);
  ASSERT_EQ(found.rule, "loader_too_few_workers");
  EXPECT_THAT(steps_in(found), HasSubstr("num_workers=2,"));
}

TEST(LoaderTooFewWorkers, ThreadsOfTheMainProcessThatLoadAreWorkersToo) {
  auto starved = ActivityBuilder().busy(40).main(200, {490, 490}).workers(0, 0);
  EXPECT_EQ(answer(starved.with([](Activity& one) { one.framework = Framework::tensorflow; })),
            "loader_too_few_workers");
}

TEST(LoaderTooFewWorkers, PausesInWhichWorkersNeverRestAreTheirs) {
  int number = 0;
  auto paused = ActivityBuilder(60).workers(2, 495).device(
      [&](DeviceStep& one) { one.utilization = Percent(number++ % 12 >= 8 ? 0 : 96); });
  EXPECT_EQ(answer(paused), "loader_too_few_workers");
}

TEST(LoaderCpuBound, IsSaidOfWorkersThatNeverRestAndHaveAllTheCpus) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(4, 490).cpus(4, 4);
  const Finding found = first_finding(starved);
  EXPECT_EQ(found.rule, "loader_cpu_bound");
  EXPECT_THAT(evidence_in(found), HasSubstr("4 of 4 worker processes that load are busy all the "
                                            "time (each 98 % of a CPU)"));
  EXPECT_THAT(evidence_in(found),
              HasSubstr("the job may use 4.0 CPUs, and 100 % of them are in use"));
  EXPECT_THAT(steps_in(found), HasSubstr("do once beforehand what is done to every sample"));
  EXPECT_EQ(answer(starved.busy(96).main(480)), "nothing") << "busy workers that are fast enough";
}

TEST(LoaderCpuBound, WhereCpusAreLeftOverItIsNotTheirWantThatHurts) {
  auto starved = ActivityBuilder().busy(45).main(230).workers(4, 490).cpus(32, 32);
  EXPECT_THAT(rules_that_speak(starved), Not(Contains("loader_cpu_bound")));
}

}  // namespace
}  // namespace berth::bottleneck
