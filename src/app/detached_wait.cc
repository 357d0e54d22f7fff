#include "app/detached_wait.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"

namespace berth {

namespace {

/// Out of the session, and onto the pipe. The process that reads it may be stopped: then what is
/// said is lost, and nothing waits for it.
Result<void> leave_the_terminal(const Fd& says) {
  if (auto alone = start_session(); !alone) return alone;
  outlive(SIGPIPE);  // a reader who has gone must not end us
  const auto nothing = open_fd("/dev/null", O_RDONLY);
  if (!nothing) return std::unexpected(nothing.error());
  if (::dup2(nothing->get(), STDIN_FILENO) < 0 || ::dup2(says.get(), STDERR_FILENO) < 0 ||
      ::fcntl(STDERR_FILENO, F_SETFL, O_WRONLY | O_NONBLOCK) != 0) {
    return fail_system(errno, "detach the waiting from the terminal");
  }
  return {};
}

/// Nobody who reads the terminal or a pipe to its end waits for us any more.
void stand_alone(const std::string& log, Fd& parting) {
  std::fflush(stdout);
  const auto nothing = open_fd("/dev/null", O_WRONLY);
  // An empty name is no file, and cannot be opened.
  const auto kept = open_fd(log, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
  if (nothing) (void)::dup2(nothing->get(), STDOUT_FILENO);
  if (kept || nothing) (void)::dup2(kept ? kept->get() : nothing->get(), STDERR_FILENO);
  (void)write_all(parting.get(), "w");
  parting.close();
}

class Front {
 public:
  Front(SignalQueue signals, pid_t waiter, Fd says, Fd parting)
      : signals_(std::move(signals)),
        waiter_(waiter),
        says_(std::move(says)),
        parting_(std::move(parting)) {}

  Result<Exit> stand() {
    for (;;) {
      const auto readable =
          wait_readable({signals_.descriptor(), says_.get(), parting_.get()}, std::nullopt);
      if (readable[1]) write_on();
      if (readable[2] && is_let_go()) {
        write_the_rest();
        return Exit{.code = 0};
      }
      if (!readable[0]) continue;
      while (const auto signal = signals_.next()) take(signal->number);
      auto ended = reap_if_ended(waiter_);
      if (!ended) return std::unexpected(std::move(ended).error());
      if (!*ended) continue;
      if (is_let_go()) ended = Exit{.code = 0};  // it had no time to wait, and has said what it did
      write_the_rest();
      return **ended;
    }
  }

 private:
  /// Without a word at the end of the pipe it has ended, as its exit says.
  bool is_let_go() {
    char word = 0;
    // A run that had nothing to wait for has left the other end to its keeper.
    const bool is_told = parting_.is_open() && wait_readable({parting_.get()}, Duration(0)).front();
    const bool is_word = is_told && ::read(parting_.get(), &word, 1) == 1;
    parting_.close();
    return is_word;
  }

  void write_the_rest() {
    while (says_.is_open() && wait_readable({says_.get()}, Duration(0)).front()) write_on();
  }

  void write_on() {
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(says_.get(), piece.data(), piece.size());
    if (got <= 0) {
      says_.close();
      return;
    }
    (void)write_all(STDERR_FILENO, {piece.data(), static_cast<std::size_t>(got)});
  }

  void take(int signal) const {
    if (signal == SIGTSTP) stop_self(SIGTSTP);  // what waits keeps its place meanwhile
    if (is_ignored(signal)) return;
    if (signal == SIGHUP) (void)end_like({.signal = SIGHUP});
    if (signal != SIGINT && signal != SIGTERM && signal != SIGQUIT) return;
    if (const auto waiter = identify_process(waiter_)) (void)send_signal(*waiter, signal);
  }

  SignalQueue signals_;
  pid_t waiter_;
  Fd says_;
  Fd parting_;
};

}  // namespace

Result<int> stand_before(const std::function<int(const LetGo&)>& wait, UntilLetGo until_let_go) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(std::move(pipe).error());
  auto parting = make_pipe();
  if (!parting) return std::unexpected(std::move(parting).error());
  auto signals = SignalQueue::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  const pid_t front = ::getpid();
  const auto waiter = fork_process([&] {
    const bool ends_too = until_let_go == UntilLetGo::ends_too;
    if (ends_too && !die_with_parent(front)) return static_cast<int>(exit_code::berth_failed);
    pipe->read.close();
    parting->read.close();
    const auto left = leave_the_terminal(pipe->write);
    pipe->write.close();
    signals->restore_original();
    if (!left) return report(left.error(), exit_code::berth_failed);
    return wait([&](const std::string& log) {
      (void)::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);  // nobody is needed in front of it any more
      stand_alone(log, parting->write);
    });
  });
  if (!waiter) return std::unexpected(waiter.error());
  pipe->write.close();
  parting->write.close();
  const auto ended =
      Front(*std::move(signals), *waiter, std::move(pipe->read), std::move(parting->read)).stand();
  if (!ended) return std::unexpected(ended.error());
  return end_like(*ended);
}

}  // namespace berth
