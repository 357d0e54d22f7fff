#include "base/signals.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>

namespace berth {
namespace {

/// What a test does to its own signals, undone.
class SignalDispositions : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sigprocmask(SIG_SETMASK, nullptr, &mask_), 0);
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &pipe_), 0);
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &child_), 0);
  }
  void TearDown() override {
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::sigaction(SIGCHLD, &child_, nullptr);
  }
  static bool is_blocked(int signal) {
    sigset_t now;
    ::sigprocmask(SIG_SETMASK, nullptr, &now);
    return ::sigismember(&now, signal) == 1;
  }

 private:
  sigset_t mask_{};
  struct sigaction pipe_{};
  struct sigaction child_{};
};

TEST_F(SignalDispositions, KnowsOneThatIsIgnored) {
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_TRUE(is_ignored(SIGPIPE));
  ::signal(SIGPIPE, SIG_DFL);
  EXPECT_FALSE(is_ignored(SIGPIPE));
  ::signal(SIGPIPE, [](int) {});
  EXPECT_FALSE(is_ignored(SIGPIPE));
}

TEST_F(SignalDispositions, WhatIsOutlivedFailsInsteadAndStaysIgnoredWhereItWas) {
  int pipe[2] = {};
  ASSERT_EQ(::pipe(pipe), 0);
  ::close(pipe[0]);
  ::signal(SIGPIPE, SIG_DFL);
  outlive(SIGPIPE);
  EXPECT_EQ(::write(pipe[1], "x", 1), -1);
  EXPECT_FALSE(is_ignored(SIGPIPE));
  ::signal(SIGPIPE, SIG_IGN);
  outlive(SIGPIPE);
  EXPECT_TRUE(is_ignored(SIGPIPE));
  ::close(pipe[1]);
}

TEST_F(SignalDispositions, ResetLetsAProgramDieOfWhatIsReadOrIgnoredHere) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_IGN);
  const auto queue = SignalQueue::open();
  ASSERT_TRUE(queue) << queue.error().message();
  ASSERT_TRUE(is_blocked(SIGTERM));
  reset_signals();
  EXPECT_FALSE(is_blocked(SIGTERM));
  EXPECT_FALSE(is_blocked(SIGPIPE));
  EXPECT_FALSE(is_ignored(SIGPIPE));
  EXPECT_FALSE(is_ignored(SIGCHLD));
}

TEST(WriteWithoutSignal, FailsWhereNobodyReadsAndEndsNobody) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EXPECT_TRUE(write_without_signal(pipe->write.get(), "hello"));
  pipe->read.close();
  struct sigaction deadly{};
  struct sigaction before{};
  deadly.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &deadly, &before), 0);
  EXPECT_FALSE(write_without_signal(pipe->write.get(), "hello"));
  sigset_t mask;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
  EXPECT_EQ(sigismember(&mask, SIGPIPE), 0) << "as it was";
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "nothing is left to strike later";
  ::sigaction(SIGPIPE, &before, nullptr);
}

}  // namespace
}  // namespace berth
