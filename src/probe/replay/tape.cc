#include "probe/replay/tape.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/sentence.h"

namespace berth {

Snapshot Tape::nearest() {
  const auto read = [&](std::size_t line) -> std::optional<Snapshot> {
    if (unreadable_.contains(line)) return std::nullopt;
    auto snapshot = recording_.at(line);
    if (snapshot) return std::move(*snapshot);
    unreadable_.insert(line);
    return std::nullopt;
  };
  for (std::size_t i = at_; i > 0; --i) {
    if (auto snapshot = read(i - 1)) return std::move(*snapshot);
  }
  for (std::size_t i = at_ + 1; i < recording_.size(); ++i) {
    if (auto snapshot = read(i)) return std::move(*snapshot);
  }
  return {};  // cannot be: the one it was begun at was read
}

Tape::TapedLook Tape::now() {
  auto here = recording_.at(at_);
  TapedLook look{.snapshot = here ? std::move(*here) : nearest(), .stands_in = !here};
  if (look.stands_in) {
    auto& problems = look.snapshot.problems;
    // The first is what the picture has room for.
    problems.insert(problems.begin(),
                    {.source = "replay",
                     .code = "unreadable",
                     .message = sentence("the nearest line that can be read is shown: {}",
                                         here.error().said())});
  }
  return look;
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
