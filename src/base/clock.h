#pragma once
// Time as a dependency. Everything that waits or measures is handed a Clock, so a week of queueing
// is milliseconds in a test. The real one is SystemClock; FakeClock moves only when told.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace berth {

using Duration = std::chrono::nanoseconds;

/// A point on the steady clock: not affected by a changed date, meaningless in another boot.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// One moment on both clocks. Ages and durations come from the steady one: somebody may set the
/// date.
struct Moment {
  WallTime wall;
  Instant steady{};
};

/// The steady clock in whole milliseconds, as it is written down beside a date.
[[nodiscard]] constexpr std::int64_t steady_ms(Instant at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

constexpr std::int64_t day_ms = 86'400'000;

inline void take_earlier(std::optional<Instant>& earliest, const std::optional<Instant>& other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  [[nodiscard]] Moment moment() const { return {.wall = wall_now(), .steady = now()}; }
  /// Blocks until `deadline`; a signal does not shorten it.
  virtual void wait_until(Instant deadline) = 0;
  /// Blocks until the descriptor is readable, the deadline, or a signal; true: it is readable.
  virtual bool wait_readable(int fd, Instant deadline) {
    static_cast<void>(fd);
    wait_until(deadline);
    return false;
  }
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void wait_until(Instant deadline) override;
  bool wait_readable(int fd, Instant deadline) override;
};

/// User and system time of a living process, of its threads that have ended too, as the kernel
/// counts it: not in ticks. Nothing: there is none.
[[nodiscard]] std::optional<Duration> process_cpu_time(pid_t pid);

class FakeClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return wall_; }
  void wait_until(Instant deadline) override {
    if (deadline > now_) advance(deadline - now_);
  }
  void advance(Duration by) {
    now_ += by;
    wall_.unix_ms += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }
  /// The date is set, the steady clock does not notice.
  void set_wall(WallTime to) { wall_ = to; }

 private:
  Instant now_{};
  WallTime wall_{1'760'000'000'000};
};

}  // namespace berth
