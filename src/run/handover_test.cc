#include "run/handover.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Handover, TellsAllThatWasLeft) {
  const Handover left = handover_from(job_line(4711) + ending_line("time limit") +
                                      end_line({.code = 0, .signal = 15, .dumped = true}));
  EXPECT_EQ(left.job, 4711);
  EXPECT_FALSE(left.not_started);
  EXPECT_EQ(left.because, "time limit");
  EXPECT_EQ(left.exit, (Exit{.code = 0, .signal = 15, .dumped = true}));
}

TEST(Handover, OfAKeeperKilledBeforeTheJobIsEmpty) {
  const Handover left = handover_from("");
  EXPECT_FALSE(left.job);
  EXPECT_FALSE(left.exit);
  EXPECT_EQ(left.because, "");
}

TEST(Handover, TellsWhyACommandCouldNotBeRun) {
  const Handover left =
      handover_from(job_line(7) + failed_line({ErrorCode::not_found, "there is no \n such thing"}));
  ASSERT_TRUE(left.not_started);
  EXPECT_EQ(left.not_started->code(), ErrorCode::not_found);
  EXPECT_EQ(left.not_started->message().find("there is no"), 0U);
}

TEST(Handover, FitsThePipeWhateverTheCommandIsCalled) {
  EXPECT_LT(failed_line({ErrorCode::not_found, Sentence(std::string(1 << 20, 'x'))}).size(), 5000U);
}

TEST(Handover, LeavesOutWhatIsNoWholeLine) {
  EXPECT_FALSE(handover_from("job 47").job) << "it may go on";
  EXPECT_FALSE(handover_from("job\njob x\njob -1\nend 1\n\n").job);
  EXPECT_FALSE(handover_from("end 1 2\n").exit);
}

}  // namespace
}  // namespace berth
