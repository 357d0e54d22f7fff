#include <poll.h>

#include <algorithm>
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

bool SystemClock::wait_readable(int fd, Instant deadline) {
  const Duration left = std::max(deadline - now(), Duration(0));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  timespec patience{};
  patience.tv_sec = seconds.count();
  patience.tv_nsec = (left - seconds).count();
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return ::ppoll(&watched, 1, &patience, nullptr) > 0;
}

std::optional<Duration> process_cpu_time(pid_t pid) {
  // What clock_getcpuclockid(3) makes of a pid, which first asks the kernel whether it is one: so
  // does reading it. The lowest bits say that it counts a process's time by the scheduler.
  constexpr clockid_t by_scheduler = 2;
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | by_scheduler;
  timespec used{};
  if (pid <= 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace berth
