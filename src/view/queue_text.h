#pragma once
// The queue for people and programs: who waits for what and why, what is gathered for whom until
// when, and who starts when.

#include <optional>
#include <string>
#include <vector>

#include "base/archive.h"
#include "place/policy.h"
#include "record/run_record.h"
#include "snapshot/snapshot.h"
#include "view/idle_list.h"
#include "view/style.h"

namespace berth {

/// One who waits, and what is worked out about it.
struct QueueRow {
  const Waiter* waiter = nullptr;  // in the snapshot that was asked about
  std::optional<WallTime> starts;  // at the latest
  std::string why;                 // empty: it may start now
};
/// In the queue's order. `policy`: null where there is none.
[[nodiscard]] std::vector<QueueRow> queue_rows(const Snapshot& snapshot, const Policy* policy);
/// "expected_start_unix_ms", "why_not_yet"
void write_outlook(Archive& archive, const QueueRow& row, const Snapshot& snapshot);

/// `policy`: null where there is none. `idle`: of those, the leases that the history knows are what
/// who waits is shown.
[[nodiscard]] std::string render_queue(const Snapshot& snapshot, const Policy* policy,
                                       const std::vector<IdleRow>& idle, const Style& style);
/// Of a run that `--after` others has no place in the queue yet; empty: it has one, or is none.
[[nodiscard]] std::string waiting_for_runs(const RunRecord& run, const Snapshot& snapshot);
[[nodiscard]] std::string queue_json(const Snapshot& snapshot, const Policy* policy,
                                     const std::vector<IdleRow>& idle);

}  // namespace berth
