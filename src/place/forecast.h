#pragma once
// The queue later: who starts now, and when the others start, by the time limits of running and
// waiting jobs. Pure, so that a test plays weeks of a machine in milliseconds with the functions
// that decide.

#include <chrono>
#include <optional>
#include <vector>

#include "place/placement.h"
#include "snapshot/snapshot.h"

namespace berth {

/// Marks what is seen on a device as nobody's any more.
void make_unused(Device& device);

/// The machine as it was seen, but for what leases used that are no longer among `claims`.
[[nodiscard]] Snapshot without_ended(Snapshot snapshot, const std::vector<Claim>& claims);

/// What the head keeps together: the devices that it could have now, then those whose leases will
/// end. Leases that are known to end soon come first.
[[nodiscard]] std::vector<DeviceId> worth_gathering(const Placement& placement,
                                                    const Request& request,
                                                    const Snapshot& snapshot);

/// Devices are held together for the head this long, then left to others for as long. Each time it
/// holds them twice as long as before, a week at most. So a job that wants many devices gets them
/// once that is longer than the jobs there last.
constexpr std::chrono::milliseconds gather_limit = std::chrono::minutes(10);
struct GatherPhase {
  bool gathers = false;
  std::chrono::milliseconds until{0};  // since it became the head
};
[[nodiscard]] GatherPhase gather_phase(std::chrono::milliseconds at_head);

/// A waiter that starts now, and on what.
struct Start {
  std::size_t waiter = 0;  // its place in Snapshot::waiters
  std::vector<ClaimedDevice> devices;
};

/// The waiters that may start on this machine, in the queue's order. With place_behind() each of
/// them finds the same for itself.
[[nodiscard]] std::vector<Start> starts_now(const Snapshot& snapshot, const Policy* policy);

/// For each waiter when it starts at the latest, unless somebody comes who goes first.
/// `Snapshot::taken`: it may start now. Nothing: a lease or an earlier waiter without a time limit
/// is in its way, or a user without a lease. No more than the first 64 are foreseen.
[[nodiscard]] std::vector<std::optional<WallTime>> expected_starts(const Snapshot& snapshot,
                                                                   const Policy* policy);

}  // namespace berth
