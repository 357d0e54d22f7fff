#pragma once
// Ctrl-C in verbs that wait or repeat: noted, so that they end in order.

#include <csignal>

#include "base/clock.h"

namespace berth {

/// While it lives, SIGINT and SIGTERM are noted instead of ending the program.
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
  struct sigaction before_int_{};
  struct sigaction before_term_{};
};

}  // namespace berth
