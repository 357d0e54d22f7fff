// What runs, signals and ends processes. Each test forks its own.

#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/lock.h"
#include "base/signals.h"
#include "base/temporary_directory.h"
#include "base/text.h"

namespace berth {
namespace {

class Processes : public ::testing::Test {
 protected:
  /// A file with this text and these permissions.
  [[nodiscard]] std::string script(std::string_view text, mode_t mode) const {
    const std::string path = directory_ + "/script";
    EXPECT_TRUE(write_file_atomically(path, text));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  TemporaryDirectory made_;
  std::string directory_ = made_.path();
};

/// How a child that does this ends.
Exit end_of(const std::function<int()>& body) {
  const auto child = fork_process(body);
  EXPECT_TRUE(child);
  const auto end = reap(child.value());
  EXPECT_TRUE(end);
  return end.value();
}

Result<std::string> run(const std::vector<std::string>& command) {
  SystemClock clock;
  return output_of(command, {"WORD=said"}, "/usr/bin:/bin", clock, std::chrono::seconds(30));
}

TEST_F(Processes, ScriptWithoutAnInterpreterLineIsRunByTheShell) {
  const std::string path = script("echo \"$WORD $1\"\n", 0755);
  const auto said = run({path, "it"});
  ASSERT_TRUE(said) << said.error().message();
  EXPECT_EQ(*said, "said it\n");
}

TEST_F(Processes, WhatCannotBeRunSaysWhyByItsCode) {
  const auto code_of = [](const std::string& path) {
    return execute({path}, {}, "/usr/bin:/bin").code();
  };
  EXPECT_EQ(code_of(directory_ + "/missing"), ErrorCode::not_found);
  EXPECT_EQ(code_of("no-such-command"), ErrorCode::not_found);
  EXPECT_EQ(code_of(directory_), ErrorCode::no_permission);
  EXPECT_EQ(code_of(script("echo\n", 0644)), ErrorCode::no_permission);
  EXPECT_EQ(code_of(script("#!/no/such/interpreter\n", 0755)), ErrorCode::not_found);
}

TEST_F(Processes, AnswerOfAChildIsItsWordsAndItsEnd) {
  SystemClock clock;
  const auto said = answer_of({"sh", "-c", "echo out; echo err >&2; exit 3"}, {}, "/usr/bin:/bin",
                              clock, std::chrono::seconds(30));
  ASSERT_TRUE(said) << said.error().message();
  EXPECT_EQ(said->out, "out\n");
  EXPECT_EQ(said->err, "err\n");
  EXPECT_EQ(said->exit, (std::optional<Exit>{Exit{.code = 3}}));
}

TEST_F(Processes, AnswerOfAChildSaysWhereItIsCut) {
  SystemClock clock;
  const auto ask = [&](std::size_t most) {
    return answer_of({"sh", "-c", "printf 12345"}, {}, "/usr/bin:/bin", clock,
                     std::chrono::seconds(30), most);
  };
  const auto whole = ask(5);
  const auto cut = ask(4);
  ASSERT_TRUE(whole && cut);
  EXPECT_FALSE(whole->is_cut);
  EXPECT_EQ(cut->out, "1234");
  EXPECT_TRUE(cut->is_cut);
}

TEST_F(Processes, AnswerOfAChildThatHangsEndsWithAllItStarted) {
  SystemClock clock;
  const auto ask = [&](Duration patience) {
    return answer_of({"sh", "-c", "sleep 300 & echo $!; wait"}, {}, "/usr/bin:/bin", clock,
                     patience);
  };
  auto said = ask(std::chrono::seconds(1));
  // More patience where a loaded machine did not get to run the child for a second.
  if (said && said->out.empty()) said = ask(std::chrono::seconds(30));
  ASSERT_TRUE(said) << said.error().message();
  EXPECT_FALSE(said->exit);
  const auto grandchild = parse_unsigned(said->out.substr(0, said->out.find('\n')));
  ASSERT_TRUE(grandchild) << said->out;
  // It has been sent SIGKILL; on a busy machine it dies a moment later.
  const Instant deadline = clock.now() + std::chrono::seconds(10);
  const auto runs = [&] {
    const auto stat = read_file("/proc/" + std::to_string(*grandchild) + "/stat");
    return stat && stat->find(") Z ") == std::string::npos;
  };
  while (runs() && clock.now() < deadline) {
    clock.wait_until(clock.now() + std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(runs()) << "it still runs";
}

TEST_F(Processes, OutputOfACommandThatFailsIsAnErrorWithItsCode) {
  const auto failed = run({"sh", "-c", "exit 3"});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), ::testing::HasSubstr("exit code 3"));
}

TEST(AskChild, EndsWithTheChildAndNotWithWhoHoldsItsPipes) {
  SystemClock clock;
  const auto said = answer_of({"sh", "-c", "setsid sleep 100 & echo $!"}, {}, "/usr/bin:/bin",
                              clock, std::chrono::seconds(90));
  ASSERT_TRUE(said && said->exit) << "it was given up";
  const auto holder = parse_unsigned(trimmed(said->out));
  ASSERT_TRUE(holder) << said->out;
  EXPECT_EQ(::kill(static_cast<pid_t>(*holder), SIGKILL), 0) << "it was waited for";
}

TEST(AskChild, IsHeardWhileItSpeaksAndGivenUpWhenItIsEnough) {
  SystemClock clock;
  std::string heard;
  const auto speak = [] {
    (void)write_all(2, "said");
    ::pause();
    return 0;
  };
  const auto said = hear_child(speak, clock, std::chrono::hours(1),
                               {.on_err = [&](std::string_view piece) { heard += piece; },
                                .is_enough = [&] { return heard == "said"; }});
  ASSERT_TRUE(said) << said.error().message();
  EXPECT_FALSE(said->exit) << "it was ended";
  EXPECT_EQ(said->err, "said");
}

TEST(Process, ThatHasEndedGetsNoSignal) {
  const auto child = fork_process([] { return 0; });
  ASSERT_TRUE(child);
  const auto id = identify_process(*child);
  ASSERT_TRUE(id);
  ASSERT_TRUE(reap(*child));
  EXPECT_EQ(send_signal(*id, 0).error().code(), ErrorCode::not_found);
  EXPECT_EQ(send_signal({.pid = *child}, 0).error().code(), ErrorCode::not_found);
  const ProcessId unknown_start{.pid = own_process_id().pid};
  EXPECT_EQ(send_signal(unknown_start, 0).error().code(), ErrorCode::invalid);
  EXPECT_EQ(set_nice(unknown_start, 0).error().code(), ErrorCode::invalid);
  EXPECT_EQ(send_signal(ProcessId{}, 0).error().code(), ErrorCode::invalid) << "our own group";
  EXPECT_EQ(open_pidfd(*child).error().code(), ErrorCode::not_found);
}

TEST(Process, ThatHasThePidOfAnEarlierOneGetsNoSignal) {
  const auto child = fork_process([] {
    ::pause();
    return 0;
  });
  ASSERT_TRUE(child);
  auto process = identify_process(*child);
  ASSERT_TRUE(process);
  ProcessId earlier = *process;
  earlier.start_ticks -= 1;
  EXPECT_EQ(send_signal(earlier, SIGKILL).error().code(), ErrorCode::not_found);
  EXPECT_EQ(set_nice(earlier, 19).error().code(), ErrorCode::not_found);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(*child)), ::getpriority(PRIO_PROCESS, 0));
  EXPECT_FALSE(*reap_if_ended(*child)) << "it was hit";
  EXPECT_TRUE(send_signal(*process, SIGKILL));
  EXPECT_EQ(reap(*child)->signal, SIGKILL);
}

TEST(Process, PidfdBecomesReadableAtItsEnd) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const auto child = fork_process([&] {
    pipe->write.close();
    return read_all(pipe->read.get()) ? 0 : 1;
  });
  ASSERT_TRUE(child);
  const auto pidfd = open_pidfd(*child);
  ASSERT_TRUE(pidfd) << pidfd.error().message();
  EXPECT_FALSE(wait_readable({pidfd->get()}, Duration(0)).front());
  EXPECT_EQ(reap_if_ended(*child).value(), std::nullopt);
  pipe->write.close();
  EXPECT_TRUE(wait_readable({pidfd->get()}, std::chrono::seconds(30)).front());
  EXPECT_EQ(reap(*child).value(), Exit{});
}

TEST(Process, CpuTimeIsCountedFinerThanTicks) {
  const auto go = make_pipe();
  ASSERT_TRUE(go);
  const auto child = fork_process([&] {
    volatile unsigned work = 0;
    while (*process_cpu_time(::getpid()) < std::chrono::milliseconds(3)) work = work + 1;
    (void)wait_readable({go->read.get()}, std::chrono::seconds(30));
    return 0;
  });
  ASSERT_TRUE(child);
  const auto used = [&] { return process_cpu_time(*child).value_or(Duration(0)); };
  SystemClock clock;
  const auto until = clock.now() + std::chrono::seconds(30);
  while (used() < std::chrono::milliseconds(3) && clock.now() < until)
    clock.wait_until(clock.now() + std::chrono::milliseconds(1));
  EXPECT_GE(used(), std::chrono::milliseconds(3));
  const auto before = used();
  ASSERT_EQ(::write(go->write.get(), "x", 1), 1);
  rusage waited{};
  int status = 0;
  ASSERT_EQ(::wait4(*child, &status, 0, &waited), *child);
  const auto whole = std::chrono::seconds(waited.ru_utime.tv_sec + waited.ru_stime.tv_sec) +
                     std::chrono::microseconds(waited.ru_utime.tv_usec + waited.ru_stime.tv_usec);
  EXPECT_LE(before, whole + std::chrono::microseconds(2)) << "by the kernel's own count";
  EXPECT_EQ(process_cpu_time(*child), std::nullopt);
}

/// How a child ends that does this with some of its standard streams closed.
Exit end_without(const std::vector<int>& closed, const std::function<int()>& body) {
  return end_of([&] {
    for (const int stream : closed) ::close(stream);
    return body();
  });
}

bool survives_exec(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

bool is_null(int fd) {
  return read_link("/proc/self/fd/" + std::to_string(fd)).value_or("") == "/dev/null";
}

TEST(Process, PipeIsNeverAStandardStream) {
  for (const auto& closed : {std::vector{0}, std::vector{2}, std::vector{0, 1, 2}}) {
    const Exit end = end_without(closed, [] {
      const auto pipe = make_pipe();
      if (!pipe) return 1;
      if (pipe->read.get() < 3 || pipe->write.get() < 3) return 2;
      if (survives_exec(pipe->read.get()) || survives_exec(pipe->write.get())) return 3;
      if (!close_standard_streams() || !write_all(pipe->write.get(), "x")) return 4;
      char got = 0;
      return ::read(pipe->read.get(), &got, 1) == 1 && got == 'x' ? 0 : 5;
    });
    EXPECT_EQ(end, Exit{}) << closed.size() << " closed, ended with " << end.code;
  }
}

TEST(Process, StreamsReplacedByNullAreThereAfterExec) {
  for (const auto& closed : {std::vector<int>{}, std::vector{0}, std::vector{0, 1, 2}}) {
    const Exit end = end_without(closed, [] {
      if (!close_standard_streams()) return 10;
      for (const int stream : {0, 1, 2}) {
        if (!is_null(stream) || !survives_exec(stream)) return 20 + stream;
      }
      return 0;
    });
    EXPECT_EQ(end, Exit{}) << closed.size() << " closed, ended with " << end.code;
  }
}

TEST(Process, OnlyClosedStreamsAreFilled) {
  for (const auto& closed : {std::vector<int>{}, std::vector{0}, std::vector{1, 2}}) {
    const Exit end = end_without({}, [&] {
      const auto pipe = make_pipe();  // so that what was given is not /dev/null
      if (!pipe) return 10;
      for (const int stream : {0, 1, 2}) {
        const bool is_closed = std::ranges::count(closed, stream) != 0;
        if ((is_closed ? ::close(stream) : ::dup2(pipe->write.get(), stream)) < 0) return 11;
      }
      if (!fill_closed_streams()) return 12;
      for (const int stream : {0, 1, 2}) {
        const bool was_closed = std::ranges::count(closed, stream) != 0;
        if (is_null(stream) != was_closed || !survives_exec(stream)) return 20 + stream;
      }
      return 0;
    });
    EXPECT_EQ(end, Exit{}) << closed.size() << " closed, ended with " << end.code;
  }
}

TEST(Process, FlockNamesItsHolder) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lock";
  const auto owner = open_fd(path, O_RDWR | O_CREAT, 0600);
  const auto other = open_fd(path, O_RDWR);
  ASSERT_TRUE(owner && other);
  FakeClock clock;
  EXPECT_EQ(flock_holder(other->get()), std::nullopt);
  ASSERT_TRUE(take_flock(owner->get(), clock, clock.now()));
  const auto locks = read_file("/proc/locks");
  if (!locks || locks->find("FLOCK") == std::string::npos) {
    GTEST_SKIP() << "this system does not list locks";
  }
  EXPECT_EQ(flock_holder(other->get()), ::getpid());
}

TEST(Process, HasNoChildOnceTheLastIsReaped) {
  EXPECT_TRUE(has_no_child());
  const auto child = fork_process([] { return 3; });
  ASSERT_TRUE(child);
  EXPECT_FALSE(has_no_child());
  ASSERT_TRUE(await_end(*child));
  EXPECT_FALSE(has_no_child()) << "it has ended, and is yet to be reaped";
  EXPECT_EQ(reap(*child).value(), Exit{.code = 3});
  EXPECT_TRUE(has_no_child());
}

TEST(Signals, AreReadWithTheirSenderInsteadOfStriking) {
  const Exit end = end_of([] {
    auto signals = SignalQueue::open();
    if (!signals || signals->next()) return 1;
    if (!send_signal(own_process_id(), SIGUSR1)) return 2;
    const auto arrived = signals->next();
    if (!arrived || arrived->number != SIGUSR1 || arrived->sender != ::getpid()) return 3;
    return arrived->from_kernel || signals->next() ? 4 : 0;
  });
  EXPECT_EQ(end, Exit{});
}

TEST(Signals, ChildGetsTheMaskThatTheCallerHad) {
  const Exit end = end_of([] {
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, SIGUSR2);
    ::sigprocmask(SIG_SETMASK, &own, nullptr);
    const auto signals = SignalQueue::open();
    if (!signals) return 1;
    signals->restore_original();
    sigset_t now;
    ::sigprocmask(SIG_SETMASK, nullptr, &now);
    return ::sigismember(&now, SIGUSR2) == 1 && ::sigismember(&now, SIGTERM) == 0 ? 0 : 2;
  });
  EXPECT_EQ(end, Exit{});
}

TEST(Signals, EndLikeDiesOfTheSameSignalThoughBlocked) {
  const Exit end = end_of([] {
    const auto signals = SignalQueue::open();
    return end_like({.signal = SIGTERM});
  });
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(end_like({.code = 5}), 5);
}

TEST(Signals, StopAndContinueOfAChildAreSeen) {
  const auto child = fork_process([] {
    const auto signals = SignalQueue::open();
    stop_self(SIGSTOP);
    return 9;
  });
  ASSERT_TRUE(child);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(*child), &info, WSTOPPED | WEXITED | WNOWAIT), 0);
  const auto stopped = next_child_change();
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->what, ChildChange::What::stopped);
  EXPECT_EQ(stopped->stop_signal, SIGSTOP);
  ASSERT_TRUE(signal_child(*child, SIGCONT));
  EXPECT_EQ(reap(*child).value(), Exit{.code = 9});
}

}  // namespace
}  // namespace berth
