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

/// What the waiter takes now, else what it gathers.
std::vector<ClaimedDevice> taken_by(const Waiter& waiter, const Snapshot& machine,
                                    const PlaceLimits& limits) {
  const auto request = request_from_json(waiter.request);
  if (!request) return gathered_by(waiter, nullptr, machine);
  const Placement placement = place(machine, *request, limits);
  if (!placement.satisfied()) return gathered_by(waiter, &*request, machine);
  std::vector<ClaimedDevice> devices;
  for (const Choice& choice : placement.chosen) devices.push_back({choice.device, choice.promised});
  return devices;
}

bool may_have(const Device& device, const Occupancy& occupancy, const Request& request,
              const PlaceLimits& limits) {
  const DeviceOccupancy here = occupancy.of(device);
  return !refusal_of({device, here, request, limits});
}

}  // namespace

std::vector<DeviceId> reserved_before(const Snapshot& snapshot, std::size_t position,
                                      const Request& own, const PlaceLimits& limits) {
  const std::size_t earlier = std::min(position, snapshot.waiters.size());
  std::vector<DeviceId> reserved = limits.reserved;
  if (earlier == 0) return reserved;

  PlaceLimits for_others = limits;
  for_others.visible.reset();
  Snapshot machine = snapshot;
  for (std::size_t i = 0; i < earlier; ++i) {
    auto devices = taken_by(snapshot.waiters[i], machine, for_others);
    if (!devices.empty())
      machine.claims.push_back(claim_of(snapshot.waiters[i], std::move(devices)));
  }
  if (machine.claims.size() == snapshot.claims.size()) return reserved;

  const Occupancy now(snapshot);
  const Occupancy then(machine);
  for (const Device& device : snapshot.devices) {
    if (may_have(device, now, own, for_others) && !may_have(device, then, own, for_others)) {
      reserved.push_back(device.id);
    }
  }
  return reserved;
}

std::vector<DeviceId> reserved_before(const Snapshot& snapshot, std::size_t position,
                                      const PlaceLimits& limits) {
  if (position < snapshot.waiters.size()) {
    if (const auto own = request_from_json(snapshot.waiters[position].request)) {
      return reserved_before(snapshot, position, *own, limits);
    }
  }
  return reserved_before(snapshot, position, Request{}, limits);
}

}  // namespace berth
