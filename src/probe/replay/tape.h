#pragma once
// Tape: a recording with a playhead that can be stopped, sped up and set back.

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "probe/replay/replay.h"

namespace berth {

class Tape {
 public:
  explicit Tape(Recording recording) : recording_(std::move(recording)), at_(recording_.first()) {}

  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return recording_.size(); }
  struct TapedLook {
    Snapshot snapshot;
    /// The line at the playhead cannot be read: this is the nearest one's, with a Problem that says
    /// so.
    bool stands_in = false;
  };
  /// What is at the playhead.
  [[nodiscard]] TapedLook now();
  /// Snapshots that come before it, at most so many, oldest first: the charts' past.
  [[nodiscard]] std::vector<Snapshot> before(std::size_t most) const;
  /// Moves the playhead; stops at the ends.
  void step(int by);
  /// How long until the next one is due at this speed; nothing: there is none.
  [[nodiscard]] std::optional<Duration> until_next(double speed) const;

 private:
  /// The nearest before the playhead that can be read; where none can, the nearest behind it.
  [[nodiscard]] Snapshot nearest();

  Recording recording_;
  std::size_t at_;
  std::set<std::size_t>
      unreadable_;  // lines that were tried: a long stretch is not read at each step
};

}  // namespace berth
