#pragma once
// Terminal: raw keys in, the other screen out. It restores everything, whatever happens: a normal
// end, a signal, a crash. Only this changes the terminal's settings.

#include <termios.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "top/screen.h"

namespace berth {

class Terminal {
 public:
  /// unsupported: stdin or stdout is no terminal.
  [[nodiscard]] static Result<Terminal> open();
  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  /// Takes the terminal: no echo, keys at once, the other screen. Again after leave().
  [[nodiscard]] Result<void> enter();
  /// Gives it back.
  void leave();

  [[nodiscard]] static int input() { return 0; }
  [[nodiscard]] top::Size size() const;
  /// In the foreground of its terminal, so that it may draw.
  [[nodiscard]] bool is_ours() const;
  /// Bytes typed; empty: none now. io: the terminal has gone.
  [[nodiscard]] Result<std::string> read() const;

  /// Writes as much as the terminal takes now and keeps the rest. A stopped terminal (Ctrl-S, a
  /// dead network) stops nothing here.
  void write(std::string_view bytes);
  [[nodiscard]] bool is_behind() const { return !unwritten_.empty(); }
  void flush();

 private:
  Terminal(Fd output, termios before) : output_(std::move(output)), before_(before) {}
  Fd output_;
  termios before_{};
  std::string unwritten_;
  bool entered_ = false;
};

// Ctrl-C in verbs that wait or repeat: noted, so that they end in order.

/// While it lives, SIGINT, SIGTERM and SIGHUP (a closed terminal) are noted and do not end the
/// program. A second one ends it. A signal that was ignored at the start (nohup) stays ignored.
class InterruptNote {
 public:
  InterruptNote();
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;
  /// 0: nothing came; else the signal's number.
  [[nodiscard]] static int signal();
  /// Until then, or until a signal comes: it is not kept waiting by a long interval.
  static void wait_until(Instant deadline, Clock& clock);

 private:
  static constexpr std::array noted = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, noted.size()> before_{};
};

}  // namespace berth
