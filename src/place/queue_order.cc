// The queue's order: what those before us take or gather.
//
// Earlier requests are played through: each is placed on a copy of the snapshot, and what it takes
// becomes a claim in that copy. What the asker could have on the machine as it is, and no longer
// has in the copy, is reserved.

#include <algorithm>
#include <utility>

#include "place/occupancy.h"
#include "place/placement.h"
#include "place/rules.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

Claim claim_of(const Waiter& waiter, std::vector<ClaimedDevice> devices) {
  Claim claim;
  claim.id = waiter.id;
  claim.user = waiter.user;
  claim.command = waiter.command;
  claim.since = waiter.since;
  claim.devices = std::move(devices);
  return claim;
}

std::vector<ClaimedDevice> taken_by(const Placement& placement) {
  std::vector<ClaimedDevice> devices;
  for (const Choice& choice : placement.chosen) devices.push_back({choice.device, choice.promised});
  return devices;
}

/// What a waiter that cannot start keeps for itself: as much of each gathered device as it wants.
std::vector<ClaimedDevice> gathered_by(const Waiter& waiter, const Request* request,
                                       const Snapshot& snapshot) {
  std::vector<ClaimedDevice> devices;
  for (const DeviceId& id : waiter.gathered) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) continue;
    ClaimedDevice claimed{id, std::nullopt};
    if (request != nullptr && request->memory) {
      claimed.promised = wanted_bytes(*request->memory, *device);
    }
    devices.push_back(std::move(claimed));
  }
  return devices;
}

/// The machine after the first waiters have taken their turns.
struct Played {
  Snapshot machine;
  std::vector<bool> started;
};

Played played(const Snapshot& snapshot, std::size_t waiters, const PlaceLimits& limits) {
  Played result{snapshot, {}};
  for (std::size_t i = 0; i < waiters; ++i) {
    const Waiter& waiter = snapshot.waiters[i];
    const auto request = request_from_json(waiter.request);
    const Placement placement = request ? place(result.machine, *request, limits) : Placement{};
    result.started.push_back(placement.satisfied());
    auto devices = placement.satisfied()
                       ? taken_by(placement)
                       : gathered_by(waiter, request ? &*request : nullptr, snapshot);
    if (!devices.empty()) result.machine.claims.push_back(claim_of(waiter, std::move(devices)));
  }
  return result;
}

/// `occupancy`: of this snapshot, or of the machine later.
bool may_have(const Device& device, const Snapshot& snapshot, const Occupancy& occupancy,
              const Request& request, const PlaceLimits& limits) {
  const DeviceOccupancy here = occupancy.of(device);
  return !refusal_of({snapshot, device, here, request, limits});
}

/// Whether somebody who started `before` could not any more once `tried` has been taken.
bool delays(const Placement& tried, const Snapshot& snapshot, const Played& before,
            const PlaceLimits& limits) {
  Snapshot taken = snapshot;
  taken.claims.push_back(claim_of(Waiter{}, taken_by(tried)));
  const Played after = played(taken, before.started.size(), limits);
  for (std::size_t i = 0; i < before.started.size(); ++i) {
    if (before.started[i] && !after.started[i]) return true;
  }
  return false;
}

}  // namespace

std::vector<DeviceId> reserved_before(const Snapshot& snapshot, std::size_t position,
                                      const Request& own, const PlaceLimits& limits) {
  const std::size_t earlier = std::min(position, snapshot.waiters.size());
  std::vector<DeviceId> reserved = limits.reserved;
  if (earlier == 0) return reserved;

  PlaceLimits for_others = limits;
  for_others.visible.reset();
  const Played before = played(snapshot, earlier, for_others);
  if (before.machine.claims.size() == snapshot.claims.size()) return reserved;

  const Occupancy now(snapshot);
  const Occupancy then(before.machine);
  for (const Device& device : snapshot.devices) {
    if (may_have(device, snapshot, now, own, for_others) &&
        !may_have(device, snapshot, then, own, for_others)) {
      reserved.push_back(device.id);
    }
  }
  // What we take may send an earlier one to another device (it looks for the best fit), and that
  // one the next: then what we would take is left to them too.
  PlaceLimits ours = limits;
  ours.reserved = reserved;
  while (true) {
    const Placement tried = place(snapshot, own, ours);
    if (!tried.satisfied() || !delays(tried, snapshot, before, for_others)) return ours.reserved;
    for (const Choice& choice : tried.chosen) ours.reserved.push_back(choice.device);
  }
}

}  // namespace berth
