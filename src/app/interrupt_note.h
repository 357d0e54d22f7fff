#pragma once
// Ctrl-C in verbs that wait or repeat: noted, so that they end in order.

#include <array>
#include <csignal>

#include "base/clock.h"

namespace berth {

/// While it lives, SIGINT, SIGTERM and SIGHUP (a closed terminal) are noted instead of ending the
/// program; a second one ends it. What whoever started us had ignored (nohup) stays ignored.
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
