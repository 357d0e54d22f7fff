#include "probe/process/patience.h"

#include <algorithm>

namespace berth {

using wire::StepKind;

namespace {

constexpr Duration most_not_counted = std::chrono::minutes(1);
constexpr Duration stall_again = std::chrono::milliseconds(700);
constexpr Duration shortest = std::chrono::milliseconds(100);

bool wakes_cards(const Progress& progress) {
  if (!progress.current || progress.begun != 1) return false;
  const StepKind kind = progress.current->kind;
  return kind == StepKind::nvml_open || kind == StepKind::nvml_device;
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
  const bool opens = step && step->kind == StepKind::nvml_open && progress.begun == 1;
  if (opens && before != Before::hung) return last_ + patience_.opening;
  const bool asks_nvml =
      step && (step->kind == StepKind::nvml_device || step->kind == StepKind::nvml_open);
  const Instant end = asks_nvml ? end_of_nvml() : end_of_all();
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
