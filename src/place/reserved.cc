// What a queue keeps from later waiters: what the earlier ones take or gather. `Snapshot::waiters`
// already stands in the queue's order (place/order.h).
//
// Earlier requests are played through. Each is placed on a copy of the snapshot, and takes a claim
// in that copy. What the asker could have on the machine as it is, and no longer has in the copy,
// is reserved.

#include <algorithm>

#include "place/occupancy.h"
#include "place/placement.h"
#include "place/play.h"
#include "place/rules.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// At first no more than this many of a long queue are played through.
constexpr std::size_t first_few = 4;

/// The first who started `before` and could not any more once `tried` has been taken.
std::optional<std::size_t> delayed_by(const Placement& tried, const Snapshot& snapshot,
                                      const Played& before, const PlaceLimits& limits) {
  Snapshot taken = snapshot;
  taken.claims.push_back(claim_of(Waiter{}, taken_by(tried)));
  const Played after = played(taken, before.started.size(), limits);
  for (std::size_t i = 0; i < before.started.size(); ++i) {
    if (before.started[i] && !after.started[i]) return i;
  }
  return std::nullopt;
}

/// Adds the waiters of `all` that took or gathered the device, or the card of this instance.
void reserve(const Device& device, const std::vector<Kept>& all, std::vector<Kept>& reserved) {
  for (const Kept& kept : all) {
    const bool is_it = kept.part.device == device.id || kept.part.device == device.parent;
    if (is_it) reserved.push_back({kept.waiter, {device.id, kept.part.promised}});
  }
}

/// Whether a newcomer has to leave a free device to the played waiters; then it is added to
/// `reserved`. `is_all`: the whole queue was played. Only then it is asked whom the taking delays.
bool is_left_to(Played& before, bool is_all, const Device& device, const Snapshot& snapshot,
                const PlaceLimits& limits, std::vector<Kept>& reserved) {
  const Request whole = wanting_whole(device);
  {
    const WithGathered gathered(before, snapshot, {});
    if (!may_have(device, before.machine, Occupancy(before.machine), whole, {})) {
      reserve(device, all_kept(before, snapshot, {}), reserved);
      return true;
    }
  }
  const bool anybody_started = std::ranges::find(before.started, true) != before.started.end();
  if (!is_all || !anybody_started) return false;
  const Placement tried = place(snapshot, whole, {.visible = {{device.id}}});
  const auto delayed = delayed_by(tried, snapshot, before, limits);
  if (delayed) reserved.push_back({*delayed, {device.id, std::nullopt}});
  return delayed.has_value();
}

}  // namespace

std::vector<Kept> reserved_before(const Snapshot& snapshot, std::size_t position,
                                  const Request& own, const PlaceLimits& limits) {
  const std::size_t earlier = std::min(position, snapshot.waiters.size());
  PlaceLimits ours = limits;
  if (earlier == 0) return ours.reserved;

  PlaceLimits for_others = limits;
  for_others.visible.reset();
  Played before = played(snapshot, earlier, for_others);
  const std::vector<Kept> kept = all_kept(before, snapshot, limits);
  if (kept.empty()) return ours.reserved;

  {
    const WithGathered gathered(before, snapshot, limits);
    const Occupancy now(snapshot);
    const Occupancy then(before.machine);
    for (const Device& device : snapshot.devices) {
      if (may_have(device, snapshot, now, own, for_others) &&
          !may_have(device, before.machine, then, own, for_others)) {
        reserve(device, kept, ours.reserved);
      }
    }
  }
  // What we take may send an earlier one to another device (it looks for the best fit). That may
  // move the next. Then what we would take is left to them too.
  while (true) {
    const Placement tried = place(snapshot, own, ours);
    if (!tried.satisfied()) return ours.reserved;
    const auto delayed = delayed_by(tried, snapshot, before, for_others);
    if (!delayed) return ours.reserved;
    for (const Choice& choice : tried.chosen) {
      ours.reserved.push_back({*delayed, {choice.device, choice.promised}});
    }
  }
}

Placement place_behind(const Snapshot& snapshot, std::size_t position, const Request& request,
                       const PlaceLimits& limits) {
  Placement placement = place(snapshot, request, limits);
  const std::size_t earlier = std::min(position, snapshot.waiters.size());
  // A few at a time. Mostly the first few take everything, and playing five hundred requests costs
  // a hundred times as much.
  for (std::size_t few = std::min(earlier, first_few); earlier > 0;) {
    if (!placement.satisfied()) break;
    PlaceLimits narrowed = limits;
    narrowed.reserved = reserved_before(snapshot, few, request, limits);
    placement = place(snapshot, request, narrowed);
    if (few == earlier) break;
    few = std::min(earlier, few * 4);
  }
  return placement;
}

Placement place_newcomer(const Snapshot& snapshot, const Request& request,
                         const PlaceLimits& limits) {
  return place_behind(snapshot, snapshot.waiters.size(), request, limits);
}

void keep_for_waiters(Snapshot& snapshot, const Policy* policy) {
  for (Waiter& waiter : snapshot.waiters) waiter.reserved.clear();
  const std::size_t all = snapshot.waiters.size();
  if (all == 0) return;
  const Occupancy now(snapshot);
  std::vector<const Device*> free;
  for (const Device& device : snapshot.devices) {
    if (may_have(device, snapshot, now, wanting_whole(device), {})) free.push_back(&device);
  }
  std::vector<Kept> reserved;
  for (std::size_t few = std::min(all, first_few); !free.empty();) {
    const PlaceLimits limits{.policy = policy};
    Played before = played(snapshot, few, limits);
    std::erase_if(free, [&](const Device* device) {
      return is_left_to(before, few == all, *device, snapshot, limits, reserved);
    });
    if (few == all) break;
    few = std::min(all, few * 4);
  }
  for (const Kept& kept : reserved) snapshot.waiters[kept.waiter].reserved.push_back(kept.part);
}

}  // namespace berth
