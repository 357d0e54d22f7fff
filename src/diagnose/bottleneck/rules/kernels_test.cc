#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(SmallKernels, AreSaidOfAGpuThatIsBusyWithFewOfItsSms) {
  auto small = ActivityBuilder().main(495).device([](DeviceStep& one) {
    one.utilization = Percent(85);
    one.sm = Percent(8);
    one.tensor = Percent(2);
    one.dram = Percent(6);
    one.power = 160_watts;
  });
  const Finding found = first_finding(small);
  EXPECT_EQ(found.rule, "small_kernels");
  EXPECT_THAT(evidence_in(found), HasSubstr("while kernels ran 9 % of the SMs were busy"));
  EXPECT_THAT(evidence_in(found), HasSubstr("it drew 23 % of its power limit"));
  EXPECT_THAT(steps_in(found), HasSubstr("raise the batch size"));
  const auto fuller = [](DeviceStep& one) { one.sm = Percent(50); };
  EXPECT_EQ(answer(small.device(fuller)), "nothing");
}

TEST(SmallKernels, ByPowerAloneSayThatTheyMayBeWrong) {
  const auto old_card = ActivityBuilder().device([](DeviceStep& one) {
    one.sm = one.tensor = one.dram = Absent::unsupported;
    one.power = 150_watts;
  });
  const Finding found = first_finding(old_card);
  EXPECT_EQ(found.rule, "small_kernels");
  EXPECT_FALSE(found.doubt.empty());
}

TEST(SerialPython, IsSaidOfAThreadThatIsBusyWhereNoKernelRuns) {
  auto serial = ActivityBuilder().busy(40).main(495).workers(0, 0);
  const Finding found = first_finding(serial);
  EXPECT_EQ(found.rule, "serial_python");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("of process 100 (python) one thread has work 100 % of the time"));
  EXPECT_THAT(evidence_in(found), HasSubstr("no child processes that could load for it"));
  EXPECT_THAT(steps_in(found), HasSubstr("py-spy top --pid 100"));
  // CUDA's waiting spins while kernels run: a thread that is as busy as the GPU says nothing.
  EXPECT_EQ(answer(serial.main(200)), "nothing");
}

TEST(SerialPython, IsSaidOfAThreadThatSleepsWhileKernelsRun) {
  // The GPU for 40 % of the time, the thread for the other 60: waits that do not spin.
  auto turns = ActivityBuilder().busy(40).main(300).workers(0, 0);
  const Finding found = first_finding(turns);
  EXPECT_EQ(found.rule, "serial_python");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("one thread has work 61 % of the time"));  // waiting for a CPU counts
  EXPECT_EQ(answer(turns.main(220)), "nothing") << "something else takes part of the time";
}

TEST(SerialPython, IsNotWhatWorkersThatNeverRestWaitFor) {
  auto starved = ActivityBuilder().busy(40).main(200).workers(2, 495);
  EXPECT_THAT(rules_that_speak(starved), Not(Contains("serial_python")));
}

TEST(MemoryBound, IsSaidOfFullMemoryBesideTensorCoresThatRest) {
  auto bound = ActivityBuilder().device([](DeviceStep& one) {
    one.dram = Percent(85);
    one.tensor = Percent(5);
  });
  const Finding found = first_finding(bound);
  EXPECT_EQ(found.rule, "memory_bound");
  EXPECT_EQ(found.severity, Severity::hint);
  EXPECT_THAT(evidence_in(found),
              HasSubstr("while kernels ran 89 % of the memory's bandwidth was in use"));
  EXPECT_THAT(steps_in(found), HasSubstr("torch.autocast"));
  EXPECT_TRUE(found.doubt.empty());
  EXPECT_EQ(answer(bound.device([](DeviceStep& one) { one.tensor = Percent(50); })), "nothing");
}

TEST(MemoryBound, WithoutCountersTheMemorysUtilisationTellsWithADoubt) {
  auto old_card = ActivityBuilder().device([](DeviceStep& one) {
    one.sm = one.tensor = one.dram = Absent::unsupported;
    one.utilization_memory = Percent(90);
  });
  const Finding found = first_finding(old_card);
  EXPECT_EQ(found.rule, "memory_bound");
  EXPECT_FALSE(found.doubt.empty());
  const auto rests = [](DeviceStep& one) { one.utilization_memory = Percent(40); };
  EXPECT_EQ(answer(old_card.device(rests)), "nothing");
}

}  // namespace
}  // namespace berth::bottleneck
