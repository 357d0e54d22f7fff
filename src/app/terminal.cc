#include "app/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/fd.h"
#include "top/screen_writer.h"

namespace berth {

namespace {

// What a handler of a crash needs: it may use nothing else.
struct Rescue {
  volatile sig_atomic_t owner = 0;  // 0: nothing to give back
  int output = -1;
  termios before{};
};
Rescue rescue;  // one terminal per process, and a signal handler takes no argument

constexpr std::array<int, 5> crashes = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

void give_back(int output, const termios& before) {
  const std::string_view bytes = top::leave_sequence();
  const ssize_t written = ::write(output, bytes.data(), bytes.size());
  static_cast<void>(written);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

extern "C" void on_crash(int signal) {
  // A probe process inherits this handler, but the terminal is not its own.
  if (rescue.owner != 0 && rescue.owner == ::getpid()) give_back(rescue.output, rescue.before);
  (void)::raise(signal);  // by default now: SA_RESETHAND
}

void watch_for_crashes() {
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal : crashes) ::sigaction(signal, &action, nullptr);
}

/// A description of its own, so that not waiting for it is nobody else's business.
Fd opened_again() {
  std::array<char, 256> name{};
  if (::ttyname_r(STDOUT_FILENO, name.data(), name.size()) == 0) {
    auto fd = open_fd(name.data(), O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (fd) return std::move(*fd);
  }
  return Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));  // after su it is another user's
}

}  // namespace

Result<Terminal> Terminal::open() {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0 || ::isatty(STDOUT_FILENO) != 1) {
    return fail(ErrorCode::unsupported, "this needs a terminal to draw on and to read keys from");
  }
  Fd output = opened_again();
  if (!output.is_open()) return fail_system(errno, "open the terminal");
  return Terminal(std::move(output), before);
}

Terminal::Terminal(Terminal&& other) noexcept
    : output_(std::move(other.output_)),
      before_(other.before_),
      unwritten_(std::move(other.unwritten_)),
      entered_(std::exchange(other.entered_, false)) {}

Terminal::~Terminal() { leave(); }

Result<void> Terminal::enter() {
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  rescue.output = output_.get();
  rescue.before = before_;
  rescue.owner = ::getpid();
  watch_for_crashes();
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) {
    return fail_system(errno, "set the terminal up");
  }
  entered_ = true;
  write(top::enter_sequence());
  return {};
}

void Terminal::leave() {
  if (!std::exchange(entered_, false)) return;
  unwritten_.clear();
  give_back(output_.get(), before_);
  rescue.owner = 0;
}

top::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(output_.get(), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  constexpr unsigned short most = 1000;  // larger is a mistake, or an attack on memory
  return {.columns = std::min(size.ws_col, most), .rows = std::min(size.ws_row, most)};
}

bool Terminal::is_ours() const { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

Result<std::string> Terminal::read() const {
  ReadBlock<4096> block;
  const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
  if (got > 0) return std::string(block.data(), static_cast<std::size_t>(got));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  return fail_system(got == 0 ? EIO : errno, "read from the terminal");
}

void Terminal::write(std::string_view bytes) {
  unwritten_ += bytes;
  flush();
}

void Terminal::flush() {
  while (!unwritten_.empty()) {
    const ssize_t wrote = ::write(output_.get(), unwritten_.data(), unwritten_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;  // later, or never: then reading says that the terminal has gone
    unwritten_.erase(0, static_cast<std::size_t>(wrote));
  }
}

namespace {
volatile std::sig_atomic_t noted_signal = 0;
}

InterruptNote::InterruptNote() {
  noted_signal = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) {
    // A second one ends even a wait, such as for a driver that does not answer.
    if (noted_signal != 0) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);
    }
    noted_signal = signal;
  };
  for (std::size_t i = 0; i < noted.size(); ++i) {
    ::sigaction(noted[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(noted[i], &action, nullptr);
  }
}

InterruptNote::~InterruptNote() {
  for (std::size_t i = 0; i < noted.size(); ++i) ::sigaction(noted[i], &before_[i], nullptr);
}

int InterruptNote::signal() { return noted_signal; }

void InterruptNote::wait_until(Instant deadline, Clock& clock) {
  constexpr Duration step = std::chrono::milliseconds(50);
  while (signal() == 0 && clock.now() < deadline) {
    clock.wait_until(std::min<Instant>(deadline, clock.now() + step));
  }
}

}  // namespace berth
