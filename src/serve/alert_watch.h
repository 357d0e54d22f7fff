#pragma once
// AlertWatch, of `berth serve`. Each look goes through the rules into the tracker. What begins or
// ends is announced, sent to the configured receivers, and kept over a restart. It has one thread,
// the loop's.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alert/tracker.h"
#include "serve/alert_sender.h"
#include "serve/alert_store.h"
#include "serve/api.h"
#include "serve/delivery_queue.h"

namespace berth::serve {

class AlertWatch {
 public:
  struct Told {
    std::function<void(const Alert&)> announce;  // one began, or ended
    std::function<void(const std::string& kind, const std::string& text)> note;  // for the log
    std::function<void(const DeliveryQueue::Dropped&)> dropped;  // a receiver is none any more
  };
  /// Loop and clock outlive it. `simulated`: the simulated server.
  AlertWatch(Loop& loop, Clock& clock, std::optional<std::string> simulated,
             const CommandPlace& commands, Told told);

  /// Reads what an earlier server left in the state directory.
  [[nodiscard]] AlertStore::Opened open(const std::string& state_directory);
  /// `around`: between two looks at disks and toolkit.
  void configure(const AlertPlan& plan, Duration around);
  /// A further look.
  void seen(const Snapshot& snapshot, std::optional<WallTime> unanswered_since);
  /// Once a second: tries what is due again, saves, and says what no look has come for.
  void pulse(const Snapshot* newest, std::optional<WallTime> unanswered_since);

  /// For the API; a new one after each look.
  [[nodiscard]] std::shared_ptr<const AlertBoard> board() const;

 private:
  enum class Freshness { new_look, old_look };
  void evaluate(const Snapshot& snapshot, Freshness freshness,
                std::optional<WallTime> unanswered_since);
  void put_restored(Instant now);
  void deliver();
  void save_if_due();

  Clock& clock_;
  std::optional<std::string> simulated_;
  Told told_;
  AlertSettings rules_;
  AlertTracker tracker_;
  EnvironmentMemory environment_;
  DeliveryQueue post_;
  AlertSender sender_;
  std::unique_ptr<AlertStore> store_;  // null: there is no place to keep anything
  std::vector<Undelivered> restored_;  // until the host's name is known
  std::string host_;
  Instant last_look_{};
  Duration look_around_interval_{};
  Instant next_look_around_{};
  Instant next_save_{};
  std::uint64_t saved_change_ = 0;
  std::uint64_t left_out_ = 0;
  bool wants_save_ = false;
};

}  // namespace berth::serve
