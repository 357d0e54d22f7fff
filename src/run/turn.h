#pragma once
// Whose turn it is: the queue's order as pure functions of what the waiters show.
//
// A long queue must cost nothing while nothing happens, so only the first few look at GPUs. The
// rest ask now and then whether they are among the first few by now, by reading the state of the
// first few alone. A waiter that leaves something of what is free says so ("passed") and counts
// for those alone who want the same; one that was stopped stops beating ("stuck") and does not
// count. Both keep their place.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lease/ledger.h"
#include "place/placement.h"
#include "place/request.h"

namespace berth {

/// So many waiters look at GPUs at a time.
constexpr std::size_t lookers_at_most = 4;
/// Those among the first beat once a second at least, the others every 2 s; a look takes 2.5 s at
/// worst.
constexpr Duration beat_interval = std::chrono::seconds(1);
constexpr Duration stuck_after = std::chrono::milliseconds(4500);
/// Who could start and does not, although awake, is passed over after this long.
constexpr Duration turn_limit = std::chrono::milliseconds(4500);
/// Somebody asleep asks again after so long per waiter before it: soon enough for a queue that
/// begins to move.
constexpr Duration sleep_step = std::chrono::milliseconds(25);
constexpr Duration shortest_sleep = std::chrono::milliseconds(10);
constexpr Duration shortest_pause = std::chrono::milliseconds(50);
constexpr Duration longest_pause = std::chrono::seconds(2);
/// Devices are held together for the head this long, then released for as long.
constexpr Duration gather_limit = std::chrono::minutes(10);

[[nodiscard]] bool is_stuck(const WaiterState& state, Instant now);

/// How long somebody asleep may wait before asking again: by how many are before it, and not past
/// the time in which half of them will have gone if the queue goes on moving as it did.
[[nodiscard]] Duration sleep_between_asking(std::size_t ahead, std::size_t gone,
                                            Duration meanwhile);

/// The snapshot with the ledger's claims, problems, and those waiters who are not stuck. The one
/// with the id `own` always counts.
[[nodiscard]] Snapshot with_ledger(Snapshot snapshot, const LedgerView& view, Instant now,
                                   const std::string& own);

/// The machine as it would be if nobody used it: what the ledger alone leaves is free.
[[nodiscard]] Snapshot as_if_unused(Snapshot snapshot);

/// The machine as it was seen, but for what leases used that are no longer in the ledger.
[[nodiscard]] Snapshot without_ended(Snapshot snapshot, const std::vector<Claim>& claims);

/// Whether earlier waiters are among the reasons.
[[nodiscard]] bool is_held_back(const Placement& placement);

/// Whether somebody further back might start on what the waiter at `position` leaves.
[[nodiscard]] bool leaves_something(const Snapshot& snapshot, std::size_t position);

/// Ids of the waiters before `position` who could start on this snapshot now.
[[nodiscard]] std::vector<std::string> able_to_start(const Snapshot& snapshot,
                                                     std::size_t position);

/// What the head keeps together: what it could have already, filled up with devices that will come
/// free when their leases end.
[[nodiscard]] std::vector<DeviceId> worth_gathering(const Placement& placement,
                                                    const Request& request);

/// The request as others have to know it: an inherited list of devices is part of it.
[[nodiscard]] Request as_others_see(const Request& request, const PlaceLimits& limits,
                                    const Snapshot& snapshot);

/// Devices watched and found idle, for those whose own history is too short.
class IdleWatch {
 public:
  /// After each placement. A gap in watching begins anew.
  void note(const Placement& placement, Instant now);
  [[nodiscard]] std::vector<std::pair<DeviceId, Milliseconds>> watched(Instant now) const;
  /// Some device only needs to be watched for longer.
  [[nodiscard]] bool is_watching() const { return watching_; }

 private:
  std::map<DeviceId, Instant> since_;
  std::optional<Instant> last_;
  bool watching_ = false;
};

}  // namespace berth
