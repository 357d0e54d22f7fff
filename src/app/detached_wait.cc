#include "app/detached_wait.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"

namespace berth {

namespace {

/// Out of the session, and onto the pipe. Whoever stands before us may be stopped and not read:
/// then what is said is lost, and nothing waits for it.
Result<void> leave_the_terminal(const Fd& says) {
  if (auto alone = start_session(); !alone) return alone;
  outlive(SIGPIPE);  // a reader who has gone must not end us
  const auto nothing = open_fd("/dev/null", O_RDONLY);
  if (!nothing) return std::unexpected(nothing.error());
  if (::dup2(nothing->get(), STDIN_FILENO) < 0 || ::dup2(says.get(), STDERR_FILENO) < 0 ||
      ::fcntl(STDERR_FILENO, F_SETFL, O_WRONLY | O_NONBLOCK) != 0) {
    return fail_system("detach the waiting from the terminal", errno);
  }
  return {};
}

class Front {
 public:
  Front(SignalQueue signals, pid_t waiter, Fd says)
      : signals_(std::move(signals)), waiter_(waiter), says_(std::move(says)) {}

  Result<Exit> stand() {
    for (;;) {
      const auto readable = wait_readable({signals_.descriptor(), says_.get()}, std::nullopt);
      if (readable[1]) write_on();
      if (!readable[0]) continue;
      while (const auto signal = signals_.next()) take(signal->number);
      auto ended = reap_if_ended(waiter_);
      if (!ended) return std::unexpected(std::move(ended).error());
      if (!*ended) continue;
      while (says_.is_open() && wait_readable({says_.get()}, Duration(0)).front()) write_on();
      return **ended;
    }
  }

 private:
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
};

}  // namespace

Result<int> stand_before(const std::function<int()>& wait) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(std::move(pipe).error());
  auto signals = SignalQueue::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  const auto waiter = fork_process([&] {
    pipe->read.close();
    const auto left = leave_the_terminal(pipe->write);
    pipe->write.close();
    signals->restore_original();
    return left ? wait() : report(left.error(), exit_code::berth_failed);
  });
  if (!waiter) return std::unexpected(waiter.error());
  pipe->write.close();
  const auto ended = Front(*std::move(signals), *waiter, std::move(pipe->read)).stand();
  if (!ended) return std::unexpected(ended.error());
  return end_like(*ended);
}

bool nobody_reads_stderr() {
  pollfd one{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace berth
