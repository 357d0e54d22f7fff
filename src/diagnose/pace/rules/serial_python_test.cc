#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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

}  // namespace
}  // namespace berth::pace
