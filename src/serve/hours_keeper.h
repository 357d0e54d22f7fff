#pragma once
// HoursKeeper: root's `berth serve` writes down each user's GPU-hours here. It takes them from the
// history that it keeps. The policy's rules that count hours read them (config/policy_file.h).

#include <string>

#include "base/clock.h"
#include "serve/workers.h"

namespace berth::serve {

/// GPU-hours count for so long.
constexpr std::chrono::hours hours_window{24 * 30};

/// Reads each user's hours from the history and writes them into that file. not_found: the history
/// is still empty.
[[nodiscard]] Result<void> write_hours_from(const std::string& history, WallTime now,
                                            const std::string& file);

class HoursKeeper {
 public:
  HoursKeeper(std::string history, std::string file)
      : history_(std::move(history)), file_(std::move(file)), workers_(1) {}
  /// Once a minute at most, on a thread of its own: a disk may hang.
  void keep(const Moment& now);

 private:
  std::string history_;
  std::string file_;
  Instant due_{};
  Workers workers_;
};

}  // namespace berth::serve
