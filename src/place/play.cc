#include "place/play.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "place/forecast.h"
#include "place/rules.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

Claim claim_of(const Waiter& waiter, std::vector<ClaimedDevice> devices) {
  Claim claim;
  claim.id = waiter.id;
  claim.uid = waiter.uid;
  claim.user = waiter.user;
  claim.command = waiter.command;
  claim.since = waiter.since;
  claim.devices = std::move(devices);
  return claim;
}

namespace {

/// What a waiter that cannot start keeps for itself: its wanted share of each gathered device, and
/// no further devices.
std::vector<ClaimedDevice> gathered_by(const Waiter& waiter, const Request* request,
                                       const Snapshot& snapshot) {
  std::vector<ClaimedDevice> devices;
  for (const DeviceId& id : waiter.gathered) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) continue;
    if (request != nullptr && devices.size() >= static_cast<std::size_t>(request->devices)) break;
    ClaimedDevice claimed{id, std::nullopt};
    if (request != nullptr && request->memory) {
      claimed.promised = wanted_bytes(*request->memory, *device);
    }
    devices.push_back(std::move(claimed));
  }
  return devices;
}

/// A job is stopped within its grace once its time is over, and lets go of its device after that.
constexpr std::int64_t backfill_margin_ms = 120'000;

/// Whether a job of that time limit may have what is gathered, as it ends before.
bool ends_before(const Gathering& gathering, const Snapshot& snapshot, const PlaceLimits& limits) {
  if (!limits.time_limit || !gathering.complete) return false;
  return snapshot.taken.unix_ms + limits.time_limit->count() + backfill_margin_ms <=
         gathering.complete->unix_ms;
}

/// A device wanted whole has no lease on it. What is gathered does not count: a short job may have
/// it.
int unclaimed_at_most(const Snapshot& machine) {
  std::unordered_set<std::string_view> claimed;
  for (const Claim& claim : machine.claims) {
    for (const ClaimedDevice& part : claim.devices) claimed.insert(part.device.text());
  }
  return static_cast<int>(std::ranges::count_if(
      machine.devices, [&](const Device& device) { return !claimed.contains(device.id.text()); }));
}

}  // namespace

WithGathered::WithGathered(Played& played, const Snapshot& snapshot, const PlaceLimits& asker)
    : claims_(played.machine.claims), before_(claims_.size()) {
  constexpr auto nobody = static_cast<uid_t>(-1);
  for (const Gathering& one : played.gatherings) {
    if (ends_before(one, snapshot, asker)) continue;
    claims_.push_back(claim_of(snapshot.waiters[one.waiter], one.devices));
    claims_.back().uid = nobody;  // it counts against nobody's limit yet
  }
}

PlaceLimits limits_of(const Waiter& waiter, PlaceLimits limits) {
  limits.visible.reset();
  limits.last_had.clear();
  limits.uid = waiter.uid;
  limits.time_limit = waiter.time_limit;
  return limits;
}

namespace {
/// A newer berth's ticket may hold a request that this one does not understand. It gathers no more
/// than the policy lets its owner have.
void keep_within_policy(std::vector<ClaimedDevice>& devices, const Snapshot& machine,
                        const PlaceLimits& its) {
  if (its.policy == nullptr) return;
  const auto most = its.policy->of(its.uid).devices_at_most;
  if (!most) return;
  const auto left = static_cast<std::size_t>(std::max(0, *most - held_under_limit(machine, its)));
  if (devices.size() > left) devices.resize(left);
}
}  // namespace

Played played(const Snapshot& snapshot, std::size_t waiters, const PlaceLimits& limits) {
  Played result{snapshot, {}, {}, {}};
  bool is_head = true;
  using Asked = std::tuple<std::string, uid_t, std::optional<std::chrono::milliseconds>>;
  std::set<Asked> failed;
  for (std::size_t i = 0; i < waiters; ++i) {
    const Waiter& waiter = snapshot.waiters[i];
    result.started.push_back(false);
    if (waiter.stuck) continue;
    // Meanwhile the machine has only become fuller. The head is looked at in full: it gathers.
    const Asked asked{waiter.request, waiter.uid, waiter.time_limit};
    if (!is_head && failed.contains(asked)) continue;
    const auto request = request_from_json(waiter.request);
    const bool is_hopeless = !is_head && request && !request->memory &&
                             request->devices > unclaimed_at_most(result.machine);
    if (is_hopeless) {
      failed.insert(asked);
      continue;
    }
    const PlaceLimits its = limits_of(waiter, limits);
    std::optional<Placement> placement;
    if (request) {
      const WithGathered gathered(result, snapshot, its);
      placement = place(result.machine, *request, its);
    }
    const bool starts = placement && placement->satisfied();
    if (!starts) failed.insert(asked);
    if (starts) {
      result.started.back() = true;
      auto devices = taken_by(*placement);
      for (const ClaimedDevice& part : devices) result.kept.push_back({i, part});
      result.machine.claims.push_back(claim_of(waiter, std::move(devices)));
      continue;
    }
    if (!may_gather(waiter, placement, snapshot.taken)) continue;
    // Only the first of those that have to wait gathers, whatever the others show.
    if (!std::exchange(is_head, false)) continue;
    auto devices = gathered_by(waiter, request ? &*request : nullptr, snapshot);
    if (!request) keep_within_policy(devices, result.machine, its);
    if (devices.empty()) continue;
    result.gatherings.push_back({i, std::move(devices), gathered_at(waiter, snapshot)});
  }
  return result;
}

std::vector<Kept> all_kept(const Played& played, const Snapshot& snapshot,
                           const PlaceLimits& asker) {
  std::vector<Kept> kept = played.kept;
  for (const Gathering& one : played.gatherings) {
    if (ends_before(one, snapshot, asker)) continue;
    for (const ClaimedDevice& part : one.devices) kept.push_back({one.waiter, part});
  }
  return kept;
}

Request wanting_whole(const Device& device) {
  Request whole;
  whole.kind = facts_of(device.kind).word;
  return whole;
}

/// `occupancy`: of this snapshot, or of the machine later.
bool may_have(const Device& device, const Snapshot& snapshot, const Occupancy& occupancy,
              const Request& request, const PlaceLimits& limits) {
  const DeviceOccupancy here = occupancy.of(device);
  const auto kinds = kinds_to_choose(snapshot, request, limits);
  return !refusal_of(
      {snapshot, device, here, request, limits, kinds, held_under_limit(snapshot, limits)});
}

bool may_gather(const Waiter& waiter, const std::optional<Placement>& placement, WallTime now) {
  if (placement) return placement->possible && !is_held_by_policy(*placement);
  return std::abs(now.unix_ms - waiter.since.unix_ms) < gather_limit.count();
}

std::optional<WallTime> gathered_at(const Waiter& waiter, const Snapshot& snapshot) {
  std::optional<WallTime> complete;
  for (const DeviceId& id : waiter.gathered) {
    bool is_leased = false;
    for (const Claim& claim : snapshot.claims) {
      if (std::ranges::find(claim.devices, id, &ClaimedDevice::device) == claim.devices.end()) {
        continue;
      }
      is_leased = true;
      if (!claim.ends || claim.ends->unix_ms <= snapshot.taken.unix_ms) return std::nullopt;
      if (!complete || *complete < *claim.ends) complete = claim.ends;
    }
    const Device* device = find_device(id, snapshot);
    if (is_leased || device == nullptr) continue;
    // Free by the ledger, and yet it could not start: a stranger that is there says no end.
    if (!may_have(*device, snapshot, Occupancy(snapshot), wanting_whole(*device), {})) {
      return std::nullopt;
    }
  }
  return complete;
}

}  // namespace berth
