#pragma once
// When a waiter looks at GPUs, and which waiters it passes over: pure functions of the waiters'
// state. The order is settled already: `LedgerView::waiters` stands in it.
//
// A long queue must cost nothing while nothing happens, so only the first few look at GPUs. Now and
// then the rest ask whether they are among the first few by now. For that they read the state of
// the first few alone. A waiter that leaves some of the free devices says so ("passed"). It then
// counts only for waiters that want the same. A stopped waiter stops beating ("stuck") and does not
// count. Both keep their place.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lease/ledger.h"
#include "place/forecast.h"
#include "place/placement.h"
#include "place/request.h"
#include "snapshot/holders.h"

namespace berth {

/// So many waiters look at GPUs at a time.
constexpr std::size_t lookers_at_most = 4;
/// The first few beat once a second at least, the others every 2 s. A look takes 2.5 s at worst.
constexpr Duration beat_interval = std::chrono::seconds(1);
constexpr Duration stuck_after = std::chrono::milliseconds(4500);
/// A waiter that could start, is awake, and does not, is passed over after this long.
constexpr Duration turn_limit = std::chrono::milliseconds(4500);
/// From then on, for so long, it keeps nothing from the waiter that passed it over.
constexpr Duration passed_over_for = std::chrono::minutes(1);
constexpr Duration longest_patience_asleep = std::chrono::minutes(1);
/// Somebody asleep asks again after so long per waiter before it: soon enough for a queue that
/// begins to move.
constexpr Duration sleep_step = std::chrono::milliseconds(25);
constexpr Duration shortest_sleep = std::chrono::milliseconds(10);
constexpr Duration shortest_pause = std::chrono::milliseconds(50);
constexpr Duration longest_pause = std::chrono::seconds(2);

[[nodiscard]] bool is_stuck(const WaiterState& state, Instant now);

/// How long a sleeping waiter may wait before it asks again. It depends on how many are ahead. It
/// ends before half of them will have gone, if the queue moves on as it did.
[[nodiscard]] Duration sleep_between_asking(std::size_t ahead, std::size_t gone,
                                            Duration meanwhile);

/// How long somebody asleep leaves it to those before it to take what seems free, and looks then.
/// The further back the longer: of hundreds, a few look now and then.
[[nodiscard]] Duration patience_asleep(std::size_t ahead);

/// Where the waiter stands in the snapshot's queue; behind all: it is not there.
[[nodiscard]] std::size_t position_of(const std::string& id, const Snapshot& snapshot);

/// The snapshot with the ledger's claims, problems, and those waiters who are not stuck. The one
/// with the id `own` always counts.
[[nodiscard]] Snapshot with_ledger(Snapshot snapshot, const LedgerView& view, Instant now,
                                   const std::string& own);

/// Adds what the ledger says to a look whose failed devices are known: holders, waiters, what is
/// reserved for them. Also adds whether the ledger could be read. Under a policy that cannot be
/// read nobody is given anything, so that nothing is reserved.
void add_ledger(Snapshot& snapshot, LedgerView view, Instant now, HolderNames& names,
                const Result<std::shared_ptr<const Policy>>& policy);

/// The machine as it would be if nobody used it: what the ledger alone leaves is free.
[[nodiscard]] Snapshot as_if_unused(Snapshot snapshot);

/// Whether earlier waiters are among the reasons.
[[nodiscard]] bool is_held_back(const Placement& placement);

/// Whether somebody further back might start on what the waiter at `position` leaves.
[[nodiscard]] bool leaves_something(const Snapshot& snapshot, std::size_t position,
                                    const Policy* policy);

/// Whether the waiter at `position` is the first of those whom the policy lets start: it gathers.
[[nodiscard]] bool is_head(const Snapshot& snapshot, std::size_t position, const Policy& policy);

/// Ids of the waiters before `position` who could start on this snapshot now.
[[nodiscard]] std::vector<std::string> able_to_start(const Snapshot& snapshot, std::size_t position,
                                                     const Policy* policy);

/// Waiters that could start by what is seen, are awake, and have not started for `turn_limit`.
/// Their machine looks different to them, they are another program's, or they want to be in the
/// way. They are passed over one after the other: after the first it is the next one's turn.
class LateStarters {
 public:
  /// The waiters that `own` passes over now.
  [[nodiscard]] std::vector<std::string> note(Snapshot seen, const std::string& own, Instant now,
                                              const Policy* policy);
  /// Nobody stands in the way of `own`.
  void nobody_is_able() { able_since_.clear(); }
  [[nodiscard]] bool is_passed_over(const std::string& id, Instant now) const;
  /// When the next one will have had its time; nothing: nobody could start.
  [[nodiscard]] std::optional<Instant> next_late() const;

 private:
  std::map<std::string, Instant> able_since_;
  std::map<std::string, Instant> passed_until_;
};

/// Whether a job of the other time limit may be let in where one of this is not.
[[nodiscard]] bool is_longer(std::optional<std::chrono::milliseconds> limit,
                             std::optional<std::chrono::milliseconds> other);

/// What the head gathers now, and for how long it goes on if nothing changes; empty: it stands
/// back.
struct ToGather {
  std::vector<DeviceId> devices;
  Duration remaining{0};
};
[[nodiscard]] ToGather to_gather(const Snapshot& snapshot, const Placement& placement,
                                 const Request& request, Duration at_head);

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
