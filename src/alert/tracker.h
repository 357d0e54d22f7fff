#pragma once
// AlertTracker: what goes on. It is shown each look's matches and says what began and what ended,
// each once. A match that is seen again is the same alert. One that flickers waits for its
// `lasting` before it begins, and for its `hold` before it is over. Pure: time comes with the look.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alert/alert.h"
#include "alert/rule_matches.h"
#include "alert/rules.h"
#include "base/clock.h"

namespace berth {

struct AlertChange {
  enum class What { began, ended } what = What::began;
  Alert alert;
};

class AlertTracker {
 public:
  /// `simulated`: the simulated server that everything in it is of.
  explicit AlertTracker(std::optional<std::string> simulated) : simulated_(std::move(simulated)) {}

  /// What an earlier one knew: what went on then goes on, and begins no second time.
  void restore(std::vector<Alert> active, std::vector<Alert> ended, Moment now);

  [[nodiscard]] std::vector<AlertChange> see(const RuleMatches& matches,
                                             const AlertSettings& settings, Moment now);

  /// Worst first, then the newest.
  [[nodiscard]] std::vector<Alert> active() const;
  /// Alerts that ended in the last week, the newest first.
  [[nodiscard]] const std::deque<Alert>& ended() const { return ended_; }
  /// Matches that there was no room for, since the start.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  static constexpr std::size_t most_active = 256;
  static constexpr std::size_t most_waiting = 1024;
  static constexpr std::size_t most_ended = 256;
  static constexpr Duration ended_kept = std::chrono::hours(24 * 7);
  /// What cannot be told for so long is tracked no longer: the card may have gone for good.
  static constexpr Duration longest_unknown = std::chrono::hours(24);

 private:
  using Key = std::pair<AlertRule, std::string>;
  struct Tracked {
    Alert alert;
    Instant first{};    // when it was first seen in this unbroken stretch
    Instant seen{};     // when it was last seen, or could not be told
    Instant told_of{};  // when a look last said anything of it
    bool has_begun = false;
  };
  enum class Told { seen, unknown, clear };
  enum class Transition { stays, begins, is_resolved, is_given_up, is_unwatched, is_forgotten };
  void note(Alert alert, Moment now);
  [[nodiscard]] static Transition transition_of(const Tracked& tracked, Told told,
                                                const AlertRuleSettings& settings, Moment now);
  /// Nothing: it does not end with that.
  [[nodiscard]] static std::optional<Ending> ending_of(Transition step);
  void forget_old(WallTime now);
  [[nodiscard]] static bool is_unknown(const Tracked& tracked, const RuleMatches& matches);
  void finish(Alert alert, Ending ending, WallTime at, std::vector<AlertChange>& changes);
  [[nodiscard]] std::size_t active_count() const;

  std::optional<std::string> simulated_;
  std::map<Key, Tracked> tracked_;
  std::deque<Alert> ended_;
  std::uint64_t left_out_ = 0;
};

}  // namespace berth
