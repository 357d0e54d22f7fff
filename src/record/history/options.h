#pragma once
// How much a history keeps, and for how long.

#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace berth {

struct HistoryOptions {
  /// What `at_most` cannot be below: smaller, an hour of a server would not fit.
  static constexpr Bytes least_disk{std::uint64_t{2} << 20};

  std::chrono::hours raw_for{24 * 14};
  std::chrono::hours minutes_for{24 * 90};
  std::chrono::hours hours_for{24 * 365 * 5};
  /// Disk space for the file and what SQLite keeps beside it. Less than least_disk is taken for
  /// that much.
  Bytes at_most{std::uint64_t{2} << 30};
  /// How many seconds of samples a killed program may lose.
  std::chrono::milliseconds commit_every{2000};
  friend bool operator==(const HistoryOptions&, const HistoryOptions&) = default;
};

}  // namespace berth
