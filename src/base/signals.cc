#include "base/signals.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace berth {

namespace {
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

void unblock(int signal) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

void set_disposition(int signal, void (*to)(int), struct sigaction* was) {
  struct sigaction action{};
  action.sa_handler = to;
  ::sigaction(signal, &action, was);
}
}  // namespace

struct SignalQueue::Original {
  sigset_t mask{};
  struct sigaction child{};
};

SignalQueue::SignalQueue(Fd fd, std::unique_ptr<Original> original)
    : fd_(std::move(fd)), original_(std::move(original)) {}
SignalQueue::SignalQueue(SignalQueue&&) noexcept = default;
SignalQueue& SignalQueue::operator=(SignalQueue&&) noexcept = default;
SignalQueue::~SignalQueue() = default;

Result<SignalQueue> SignalQueue::open() {
  auto original = std::make_unique<Original>();
  sigset_t all;
  ::sigfillset(&all);
  for (const int fault : faults) ::sigdelset(&all, fault);
  if (::sigprocmask(SIG_BLOCK, &all, &original->mask) != 0) {
    return fail_system(errno, "block signals");
  }
  // Started with SIGCHLD ignored, waiting for a child would never tell how it ended.
  set_disposition(SIGCHLD, SIG_DFL, &original->child);
  Fd fd(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_open()) return fail_system(errno, "read signals from a descriptor");
  return SignalQueue(std::move(fd), std::move(original));
}

std::optional<ArrivedSignal> SignalQueue::next() {
  signalfd_siginfo info{};
  ssize_t got = 0;
  do {
    got = ::read(fd_.get(), &info, sizeof info);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return ArrivedSignal{.number = static_cast<int>(info.ssi_signo),
                       .from_kernel = info.ssi_code == SI_KERNEL,
                       .sender = static_cast<pid_t>(info.ssi_pid)};
}

void SignalQueue::restore_original() const {
  ::sigaction(SIGCHLD, &original_->child, nullptr);
  ::sigprocmask(SIG_SETMASK, &original_->mask, nullptr);
}

std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                std::optional<Duration> patience) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int fd : descriptors) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  timespec limit{};
  if (patience) {
    const Duration positive = std::max(*patience, Duration(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(positive);
    limit.tv_sec = seconds.count();
    limit.tv_nsec = (positive - seconds).count();
  }
  // Interrupted by a signal: nothing is readable, the caller's loop asks again.
  const int ready = ::ppoll(polled.data(), polled.size(), patience ? &limit : nullptr, nullptr);
  std::vector<bool> readable;
  readable.reserve(polled.size());
  for (const pollfd& one : polled) readable.push_back(ready > 0 && one.revents != 0);
  return readable;
}

bool is_ignored(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

extern "C" void do_nothing(int /*signal*/) {}

void outlive(int signal) {
  if (!is_ignored(signal)) set_disposition(signal, do_nothing, nullptr);
}

Result<void> write_without_signal(int pipe, std::string_view bytes) {
  sigset_t broken_pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  auto written = write_all(pipe, bytes);
  if (!written && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written;
}

void reset_signals() {
  set_disposition(SIGPIPE, SIG_DFL, nullptr);
  set_disposition(SIGCHLD, SIG_DFL, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void stop_self(int signal) {
  if (signal == SIGSTOP) {
    (void)::raise(SIGSTOP);
    return;
  }
  struct sigaction was{};
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  set_disposition(signal, SIG_DFL, &was);
  (void)::raise(signal);
  unblock(signal);  // here it strikes, and here we go on when continued
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(signal, &was, nullptr);
}

int end_like(const Exit& exit) {
  if (exit.signal == 0) return exit.code;
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  set_disposition(exit.signal, SIG_DFL, nullptr);
  (void)::raise(exit.signal);
  unblock(exit.signal);
  return shell_exit_code(exit);
}

}  // namespace berth
