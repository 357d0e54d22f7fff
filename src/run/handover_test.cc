#include "run/handover.h"

#include <gtest/gtest.h>

#include <cerrno>

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

TEST(Handover, CarriesAnErrorThereAndBackWhateverItsWordsAre) {
  const auto there_and_back = [](const Error& error) {
    const std::string line = failed_line(error);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line: " << line;
    auto read = failure_in(line.substr(0, line.size() - 1));
    EXPECT_TRUE(read) << line;
    return read ? *read : Error(ErrorCode::io, "nothing was read");
  };
  const Error named = system_error(ENOENT, "open {}", "/tmp/{a} {}");
  EXPECT_EQ(there_and_back(named).message(), "cannot open /tmp/{a} {}: No such file or directory");
  EXPECT_EQ(there_and_back(named).code(), ErrorCode::not_found);
  const Error denied = system_error(EACCES, "run {}", "训练");
  EXPECT_EQ(there_and_back(denied).message(), "cannot run 训练: Permission denied");
  EXPECT_EQ(there_and_back(denied).code(), ErrorCode::no_permission);
  const Error lines(ErrorCode::busy, "it says {}", "one\ntwo");
  EXPECT_EQ(there_and_back(lines).message(), "it says one\\x0Atwo");
  EXPECT_EQ(there_and_back(lines).code(), ErrorCode::io) << "all others are one exit code";
  EXPECT_EQ(there_and_back({ErrorCode::io, Sentence()}).message(), "");
  EXPECT_FALSE(failure_in("end 1 2 0"));
  EXPECT_FALSE(failure_in("failed x y"));
}

TEST(Handover, CarriesAnEndThereAndBack) {
  const Exit exit{.code = 3, .signal = 9, .dumped = true};
  const std::string line = end_line(exit, "time limit");
  const auto end = end_news_in(line.substr(0, line.size() - 1));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit, exit);
  EXPECT_EQ(end->more, "time limit");
  const std::string bare = end_line(exit);
  EXPECT_EQ(end_news_in(bare.substr(0, bare.size() - 1)).value_or(EndNews{}).more, "");
  const std::string lives = runs_on_line(exit, "0a1b");
  EXPECT_FALSE(end_news_in(lives.substr(0, lives.size() - 1))) << "its container goes on";
  EXPECT_EQ(runs_on_in(lives.substr(0, lives.size() - 1)).value_or(EndNews{}).more, "0a1b");
  EXPECT_FALSE(end_news_in("end 1 2"));
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
