#pragma once
// How long a probe process is waited for. Silence counts: a slow driver gets its time, one that has
// stopped answering does not.

#include <functional>

#include "base/clock.h"
#include "probe/probe_process/progress.h"

namespace berth {

struct Patience {
  /// The whole look, without the time after which something answered.
  Duration whole = std::chrono::milliseconds(2500);
  /// A step that has been silent for this long is given up.
  Duration stall = std::chrono::milliseconds(700);
  /// The same for starting the driver's library, and for the first call to a card. Without
  /// persistence mode that wakes up the card, which takes seconds.
  Duration opening = std::chrono::seconds(10);
  Duration waking = std::chrono::seconds(5);
  /// Called once where that has taken `slow_after`, so that nobody wonders; null: nobody is told.
  std::function<void()> tell_slow_start = nullptr;
  static constexpr Duration slow_after = std::chrono::seconds(2);
};

/// When the step that is going on is given up. Pure but for the clock's readings it is told.
class Deadlines {
 public:
  /// What the step did at an earlier look. One that hung is asked again, and not waited for as long
  /// again.
  enum class Before { unknown, hung };

  Deadlines(const Patience& patience, Instant began)
      : patience_(patience), began_(began), last_(began) {}

  /// The probe process has come to another step: what it took until now was not silence.
  void answered(Instant now);
  /// The current step was given up. Waiting for it beyond a stall is not charged to the others.
  void gave_up(Instant now);
  /// A new probe process begins.
  void begins(Instant now) { last_ = now; }

  [[nodiscard]] Instant end_of_all() const { return began_ + patience_.whole + not_counted_; }
  /// What the driver may take of the time, so that PCI and /proc get their turn.
  [[nodiscard]] Instant end_of_driver() const {
    return began_ + patience_.whole * 3 / 4 + not_counted_;
  }
  /// Until when the step that is going on may be silent. Each given-up device shortens the patience
  /// for the next. So even of many hanging devices all get asked.
  [[nodiscard]] Instant silence_ends(const Progress& progress, Instant now,
                                     Before before = Before::unknown) const;
  /// Whether cards are being woken up, and have been for longer than one would expect.
  [[nodiscard]] bool is_slow_start(const Progress& progress, Instant now) const;
  /// For how long nothing has been heard.
  [[nodiscard]] Duration silent(Instant now) const { return now - last_; }

 private:
  Patience patience_;
  Instant began_;
  Instant last_;
  Duration not_counted_{};  // a minute at most: so long may a look take that answers slowly
  int given_up_ = 0;
};

}  // namespace berth
