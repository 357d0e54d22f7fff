#include "app/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "view/refresh.h"

namespace berth {

namespace {

constexpr Duration drawn_every = std::chrono::milliseconds(100);

void draw_over(const std::string& line) {
  std::fputs(over_line(line).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

bool is_in_front() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

void ProgressBar::show(std::optional<double> share, const std::string& what) {
  // A server's workers ask, too: a terminal is the main thread's.
  if (!context_.stderr_is_terminal() || ::gettid() != ::getpid()) return;
  const Instant now = context_.clock().now();
  const bool is_early = from_ == From::first_second && now - began_ < std::chrono::seconds(1);
  if (is_early || now < next_ || !is_in_front()) return;
  next_ = now + drawn_every;
  is_drawn_ = true;
  draw_over(render_progress(share, now - began_, what, context_.err()));
}

void ProgressBar::clear() {
  if (std::exchange(is_drawn_, false) && is_in_front()) draw_over("");
}

Instant ProgressClock::now() const {
  const Instant now = clock_.now();
  using FloatSeconds = std::chrono::duration<double>;
  const auto share =
      whole_ ? std::optional(FloatSeconds(now - began_) / FloatSeconds(*whole_)) : std::nullopt;
  progress_.show(share, what_);
  return now;
}

void ProgressClock::wait_until(Instant deadline) {
  for (Instant at = now(); at < deadline; at = now()) {
    clock_.wait_until(std::min(deadline, at + drawn_every));
  }
}

}  // namespace berth
