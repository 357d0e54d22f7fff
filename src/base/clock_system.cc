#include <cerrno>
#include <ctime>

#include "base/clock.h"

namespace berth {

Instant SystemClock::now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall_now() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

void SystemClock::wait_until(Instant deadline) {
  const auto since = deadline.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  timespec until{};
  until.tv_sec = seconds.count();
  until.tv_nsec = (since - seconds).count();
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace berth
