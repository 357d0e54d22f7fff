#pragma once
// The queue played through. Each waiter in its order is placed on a copy of the machine. What it
// takes becomes a claim in that copy. A waiter gets what nobody before it takes or gathers.
// Internal to src/place.

#include <optional>
#include <vector>

#include "place/occupancy.h"
#include "place/placement.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What a waiter gathers, and when it has all of it.
struct Gathering {
  std::size_t waiter = 0;
  std::vector<ClaimedDevice> devices;
  std::optional<WallTime> complete;
};

/// The machine after the first waiters have taken their turns.
struct Played {
  Snapshot machine;  // with what they took
  std::vector<bool> started;
  std::vector<Kept> kept;  // what they took
  std::vector<Gathering> gatherings;
};

/// Plays the first `waiters` of the queue. Of `limits` what counts for all.
[[nodiscard]] Played played(const Snapshot& snapshot, std::size_t waiters,
                            const PlaceLimits& limits);

/// What was taken, and what is gathered and not left to the asker.
[[nodiscard]] std::vector<Kept> all_kept(const Played& played, const Snapshot& snapshot,
                                         const PlaceLimits& asker);

[[nodiscard]] Claim claim_of(const Waiter& waiter, std::vector<ClaimedDevice> devices);
/// The members of `limits` that count for all, with the waiter's own for the rest.
[[nodiscard]] PlaceLimits limits_of(const Waiter& waiter, PlaceLimits limits);

/// A request for that device, whole.
[[nodiscard]] Request wanting_whole(const Device& device);

/// `occupancy`: of this snapshot, or of the machine later.
[[nodiscard]] bool may_have(const Device& device, const Snapshot& snapshot,
                            const Occupancy& occupancy, const Request& request,
                            const PlaceLimits& limits);

/// Adds to the machine, while it lives, what is gathered and not left to the asker.
class WithGathered {
 public:
  WithGathered(Played& played, const Snapshot& snapshot, const PlaceLimits& asker);
  ~WithGathered() { claims_.resize(before_); }
  WithGathered(const WithGathered&) = delete;
  WithGathered& operator=(const WithGathered&) = delete;

 private:
  std::vector<Claim>& claims_;
  std::size_t before_;
};

}  // namespace berth
