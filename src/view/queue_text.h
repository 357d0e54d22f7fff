#pragma once
// The queue for people and programs. It says who waits for what and why, and who starts when. It
// also says what is gathered for which waiter, and until when.

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/archive.h"
#include "lease/planned.h"
#include "place/policy.h"
#include "record/run_record.h"
#include "snapshot/snapshot.h"
#include "view/idle_list.h"
#include "view/style.h"

namespace berth {

/// One who waits, and what is worked out about it.
struct QueueRow {
  const Waiter* waiter = nullptr;
  std::size_t position = 0;          // 1: the next
  std::optional<WallTime> starts;    // at the latest; `Snapshot::taken`: now
  std::string why;                   // why not yet; empty: it may start now, or is_foreseen says
  std::optional<WallTime> complete;  // when all that it gathers is free; it has some of it already
  bool is_foreseen = true;           // false: too many are before it
  bool is_for_others = false;        // it waits for what somebody has, and for no time of day
};

struct QueueAsked {
  const Policy* policy = nullptr;  // null: there is none
  /// There is one, and it cannot be read: nothing is given to anybody until it can.
  bool is_policy_unread = false;
  /// So many are looked into; the others have their place alone.
  std::size_t most = std::numeric_limits<std::size_t>::max();
  /// The users who may be named; null: all.
  const std::set<std::string>* names = nullptr;
};
[[nodiscard]] std::vector<QueueRow> queue_rows(const Snapshot& snapshot, const QueueAsked& asked);
/// The members that JSON has for a row beside its Waiter.
void write_outlook(Archive& archive, const QueueRow& row);

/// `idle`: leases that the history knows to be held idle. Waiters are shown them.
[[nodiscard]] std::string render_queue(const Snapshot& snapshot, const QueueAsked& asked,
                                       const std::vector<IdleRow>& idle, const Style& style);
/// Why this run waits, device by device, its place and its start; empty: it has no place.
[[nodiscard]] std::string render_wait_of(const std::string& run, const Snapshot& snapshot,
                                         const Policy* policy, const Style& style);
/// Of a run that waits and has no place in the queue yet: that is `--after` others, or its ticket
/// could not be written. Empty: it has one, or is none.
[[nodiscard]] std::string waiting_without_place(const RunRecord& run, const Snapshot& snapshot);
/// What is said of a run that waits elsewhere than in the queue: for another run's end, in Slurm's.
struct SaidOfRun {
  std::string run;
  std::string line;
};
/// Reservations that are to begin, a line each; and what JSON has of one.
[[nodiscard]] std::string render_planned(const std::vector<Planned>& planned, const Style& style);
/// `is_named`: who it is for may be told.
void write_planned_row(Archive& archive, const Planned& planned, bool is_named);
[[nodiscard]] std::string queue_json(const Snapshot& snapshot, const QueueAsked& asked,
                                     const std::vector<IdleRow>& idle,
                                     const std::vector<Planned>& planned,
                                     const std::vector<SaidOfRun>& not_queued);

}  // namespace berth
