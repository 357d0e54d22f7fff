#include "app/tape.h"

#include <algorithm>

#include "health/faults.h"

namespace berth {

Snapshot Tape::now() const {
  auto snapshot = recording_.at(at_);
  if (snapshot) {
    snapshot->faults = failed_devices(*snapshot);
    return std::move(*snapshot);
  }
  Snapshot unreadable;
  unreadable.problems.push_back(
      {.source = "replay", .code = "unreadable", .message = snapshot.error().message()});
  return unreadable;
}

std::vector<Snapshot> Tape::before(std::size_t most) const {
  std::vector<Snapshot> past;
  for (std::size_t i = at_ - std::min(at_, most); i < at_; ++i) {
    auto snapshot = recording_.at(i);
    if (snapshot) past.push_back(std::move(*snapshot));
  }
  return past;
}

void Tape::step(int by) {
  const auto last = static_cast<long>(recording_.size()) - 1;
  at_ = static_cast<std::size_t>(std::clamp(static_cast<long>(at_) + by, 0L, last));
}

std::optional<Duration> Tape::until_next(double speed) const {
  if (at_ + 1 >= recording_.size()) return std::nullopt;
  const auto here = recording_.at(at_);
  const auto next = recording_.at(at_ + 1);
  constexpr double longest_ms = 60'000;  // a machine that was switched off overnight
  double ms = 1000;
  if (here && next) {
    ms = std::clamp(
        static_cast<double>(next->taken.unix_ms) - static_cast<double>(here->taken.unix_ms), 0.0,
        longest_ms);
  }
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(ms / std::max(speed, 0.01)));
}

}  // namespace berth
