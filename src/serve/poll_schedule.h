#pragma once
// Which host is asked next. Each is asked once an interval, spread so that many are not asked at
// once. Hosts that fail are asked ever more seldom. They never take so many places that the others
// wait. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace berth::serve {

struct PollRules {
  Duration interval = std::chrono::seconds(5);
  std::size_t at_once = 16;
  Duration longest_pause = std::chrono::seconds(30);
};

class PollSchedule {
 public:
  /// Nobody.
  PollSchedule() = default;
  /// `names`: what spreads them; the first are due at once, the last a moment later.
  PollSchedule(PollRules rules, const std::vector<std::string>& names, Instant now);

  /// The hosts to be asked now, by their place in `names`. They are under way from then on.
  [[nodiscard]] std::vector<std::size_t> take_due(Instant now);
  enum class Went { well, badly };
  void answered(std::size_t which, Went went, Instant now);
  /// When to look again; nothing: only an answer can change anything.
  [[nodiscard]] std::optional<Instant> next() const;

 private:
  struct Turn {
    std::uint64_t chance = 0;  // of its own, so that no two keep step
    Instant due{};
    int failures = 0;  // in a row
    bool is_under_way = false;
  };
  [[nodiscard]] Duration pause_after(Turn& turn) const;

  PollRules rules_;
  std::vector<Turn> turns_;
  std::size_t under_way_ = 0;
  std::size_t failing_under_way_ = 0;
};

}  // namespace berth::serve
