#pragma once
// Tape: a recording with a playhead that can be stopped, sped up and set back.

#include <optional>
#include <vector>

#include "base/clock.h"
#include "probe/replay/replay.h"

namespace berth {

class Tape {
 public:
  explicit Tape(Recording recording) : recording_(std::move(recording)), at_(recording_.first()) {}

  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return recording_.size(); }
  /// The snapshot at the playhead; a line that cannot be read is one with a Problem.
  [[nodiscard]] Snapshot now() const;
  /// Snapshots that come before it, at most so many, oldest first: the charts' past.
  [[nodiscard]] std::vector<Snapshot> before(std::size_t most) const;
  /// Moves the playhead; stops at the ends.
  void step(int by);
  /// How long until the next one is due at this speed; nothing: there is none.
  [[nodiscard]] std::optional<Duration> until_next(double speed) const;

 private:
  Recording recording_;
  std::size_t at_;
};

}  // namespace berth
