#include "probe/probe_process/patience.h"

#include <algorithm>

#include "probe/device_source.h"

namespace berth {

using wire::StepKind;

namespace {

constexpr Duration most_not_counted = std::chrono::minutes(1);
constexpr Duration stall_again = std::chrono::milliseconds(700);
constexpr Duration shortest = std::chrono::milliseconds(100);

bool asks_driver(const wire::ProbeStep& step) {
  return step.kind == StepKind::driver || step.kind == StepKind::device;
}

bool wakes_cards(const Progress& progress) {
  if (!progress.current || progress.begun != 1) return false;
  return progress.driver && source_of(*progress.driver).starts_slowly &&
         asks_driver(*progress.current);
}

}  // namespace

void Deadlines::answered(Instant now) {
  not_counted_ = std::min(not_counted_ + (now - last_), most_not_counted);
  last_ = now;
}

void Deadlines::gave_up(Instant now) {
  const Duration beyond = std::max(now - last_ - patience_.stall, Duration{0});
  not_counted_ = std::min(not_counted_ + beyond, most_not_counted);
  last_ = now;
  ++given_up_;
}

Instant Deadlines::silence_ends(const Progress& progress, Instant now, Before before) const {
  const auto& step = progress.current;
  const bool opens = step && step->kind == StepKind::driver && wakes_cards(progress);
  if (opens && before != Before::hung) return last_ + patience_.opening;
  const Instant end = step && asks_driver(*step) ? end_of_driver() : end_of_all();
  const Duration share = std::max<Duration>(std::max(end - now, Duration{0}) / 3, shortest);
  const auto at_most = [&](Duration silence) {
    return last_ + (given_up_ == 0 ? silence : std::min(silence, share));
  };
  if (before == Before::hung) return at_most(std::min(patience_.stall, stall_again));
  // Halved with each that was given up, whatever is left of the whole: the next may be well.
  if (wakes_cards(progress)) {
    return last_ + std::max<Duration>(patience_.waking / (1 << std::min(given_up_, 5)), shortest);
  }
  return std::min(end, at_most(patience_.stall));
}

bool Deadlines::is_slow_start(const Progress& progress, Instant now) const {
  return wakes_cards(progress) && now - last_ >= Patience::slow_after;
}

}  // namespace berth
