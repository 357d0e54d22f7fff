#include "run/turn.h"

#include <algorithm>

#include "place/forecast.h"

namespace berth {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// Watching means looking at least this often.
constexpr Duration longest_gap_in_watching = std::chrono::seconds(5);

/// In a crowd of waiters that cannot use what is free, only so many are judged one by one.
constexpr std::size_t most_played_through = 32;

}  // namespace

bool is_stuck(const WaiterState& state, Instant now) {
  return state.beat && now - *state.beat >= stuck_after;
}

Duration sleep_between_asking(std::size_t ahead, std::size_t gone, Duration meanwhile) {
  using Count = Duration::rep;
  const std::size_t too_many = ahead > lookers_at_most ? ahead - lookers_at_most : 0;
  Duration sleep = static_cast<Count>(std::min<std::size_t>(too_many, 1000) + 1) * sleep_step;
  if (gone > 0) {
    const Duration each = meanwhile / static_cast<Count>(gone);
    sleep = std::min(sleep, each * static_cast<Count>(too_many / 2));
  }
  return std::clamp<Duration>(sleep, shortest_sleep, longest_pause);
}

Duration patience_asleep(std::size_t ahead) {
  const Duration patience = turn_limit * static_cast<Duration::rep>(ahead / lookers_at_most);
  return std::clamp<Duration>(patience, turn_limit, longest_patience_asleep);
}

std::size_t position_of(const std::string& id, const Snapshot& snapshot) {
  const auto found = std::ranges::find(snapshot.waiters, id, &Waiter::id);
  return static_cast<std::size_t>(found - snapshot.waiters.begin());
}

Snapshot with_ledger(Snapshot snapshot, const LedgerView& view, Instant now,
                     const std::string& own) {
  snapshot.claims = view.claims;
  snapshot.waiters.clear();
  for (std::size_t i = 0; i < view.waiters.size(); ++i) {
    const Waiter& waiter = view.waiters[i];
    if (waiter.id == own || !is_stuck(view.states[i], now)) snapshot.waiters.push_back(waiter);
  }
  std::erase_if(snapshot.problems,
                [](const Problem& problem) { return problem.source == "ledger"; });
  snapshot.problems.insert(snapshot.problems.end(), view.problems.begin(), view.problems.end());
  return snapshot;
}

void add_ledger(Snapshot& snapshot, LedgerView view, Instant now, HolderNames& names,
                const Result<std::shared_ptr<const Policy>>& policy) {
  for (std::size_t i = 0; i < view.states.size(); ++i) {
    view.waiters[i].stuck = is_stuck(view.states[i], now);
  }
  snapshot.sources.push_back({.source = std::string(ledger_source), .succeeded = !view.is_unread});
  add_holders(snapshot, std::move(view.claims), std::move(view.waiters), names);
  snapshot.problems.insert(snapshot.problems.end(), view.problems.begin(), view.problems.end());
  if (policy) keep_for_waiters(snapshot, policy->get());
}

Snapshot as_if_unused(Snapshot snapshot) {
  snapshot.gpu_processes.clear();
  for (Device& device : snapshot.devices) make_unused(device);
  return snapshot;
}

bool is_held_back(const Placement& placement) {
  return std::any_of(placement.refused.begin(), placement.refused.end(),
                     [](const Refusal& refusal) { return refusal.rule == Rule::reserved; });
}

bool leaves_something(const Snapshot& snapshot, std::size_t position, const Policy* policy) {
  const Request least{.devices = 1, .memory = Bytes{1}};
  const PlaceLimits of_a_short_job{.time_limit = milliseconds(0)};
  PlaceLimits limits = of_a_short_job;
  limits.policy = policy;
  limits.uid = static_cast<uid_t>(-1);
  return place_behind(snapshot, position + 1, least, limits).satisfied();
}

bool is_head(const Snapshot& snapshot, std::size_t position, const Policy& policy) {
  for (std::size_t i = 0; i < position; ++i) {
    const Waiter& waiter = snapshot.waiters[i];
    const auto request = request_from_json(waiter.request);
    const PlaceLimits its{.policy = &policy, .uid = waiter.uid};
    std::optional<Placement> placement;
    if (request) placement = place(snapshot, *request, its);
    if (may_gather(waiter, placement, snapshot.taken)) return false;
  }
  return true;
}

std::vector<std::string> able_to_start(const Snapshot& snapshot, std::size_t position,
                                       const Policy* policy) {
  std::vector<std::string> able;
  for (std::size_t i = 0; i < std::min(position, most_played_through); ++i) {
    const auto request = request_from_json(snapshot.waiters[i].request);
    const PlaceLimits its{.policy = policy,
                          .uid = snapshot.waiters[i].uid,
                          .time_limit = snapshot.waiters[i].time_limit};
    if (request && place_behind(snapshot, i, *request, its).satisfied()) {
      able.push_back(snapshot.waiters[i].id);
    }
  }
  return able;
}

std::vector<std::string> LateStarters::note(Snapshot seen, const std::string& own, Instant now,
                                            const Policy* policy) {
  std::erase_if(passed_until_, [now](const auto& one) { return now >= one.second; });
  std::erase_if(seen.waiters,
                [this](const Waiter& waiter) { return passed_until_.contains(waiter.id); });
  std::map<std::string, Instant> since;
  for (bool is_one_more = true; is_one_more;) {
    is_one_more = false;
    for (const std::string& id : able_to_start(seen, position_of(own, seen), policy)) {
      const auto before = able_since_.find(id);
      const Instant first = before == able_since_.end() ? now : before->second;
      if (now - first < turn_limit) {
        since.emplace(id, first);
        continue;
      }
      passed_until_.emplace(id, now + passed_over_for);
      std::erase_if(seen.waiters, [&id](const Waiter& waiter) { return waiter.id == id; });
      is_one_more = true;
    }
  }
  able_since_ = std::move(since);
  std::vector<std::string> late;
  for (const auto& [id, until] : passed_until_) late.push_back(id);
  return late;
}

bool LateStarters::is_passed_over(const std::string& id, Instant now) const {
  const auto found = passed_until_.find(id);
  return found != passed_until_.end() && now < found->second;
}

std::optional<Instant> LateStarters::next_late() const {
  std::optional<Instant> next;
  for (const auto& [id, since] : able_since_) {
    next = std::min(next.value_or(Instant::max()), since + turn_limit);
  }
  return next;
}

bool is_longer(std::optional<milliseconds> limit, std::optional<milliseconds> other) {
  return other && (!limit || *limit > *other);
}

ToGather to_gather(const Snapshot& snapshot, const Placement& placement, const Request& request,
                   Duration at_head) {
  ToGather gathers{.devices = worth_gathering(placement, request, snapshot)};
  // A device that surely comes free is held until then: short jobs may have it meanwhile.
  if (const auto complete = gathered_at({.gathered = gathers.devices}, snapshot)) {
    gathers.remaining = milliseconds(complete->unix_ms - snapshot.taken.unix_ms) + gather_limit;
    return gathers;
  }
  const auto phase = gather_phase(duration_cast<milliseconds>(at_head));
  if (!phase.gathers) return {};
  gathers.remaining = phase.until - at_head;
  return gathers;
}

Request as_others_see(const Request& request, const PlaceLimits& limits, const Snapshot& snapshot) {
  if (!limits.visible) return request;
  Request narrowed = request;
  narrowed.only.clear();
  for (const Device& device : snapshot.devices) {
    const bool wanted =
        request.only.empty() ||
        std::any_of(request.only.begin(), request.only.end(),
                    [&](const DevicePattern& pattern) { return matches(pattern, device); });
    if (wanted && contains(*limits.visible, device.id)) {
      narrowed.only.push_back({device.id.text()});
    }
  }
  // None at all: a name that no device has, as an empty list would mean any.
  if (narrowed.only.empty()) narrowed.only.push_back({"none"});
  return narrowed;
}

void IdleWatch::note(const Placement& placement, Instant now) {
  if (last_ && now - *last_ > longest_gap_in_watching) since_.clear();
  last_ = now;
  watching_ = false;
  for (const Refusal& refusal : placement.refused) {
    if (refusal.rule == Rule::not_idle) since_.erase(refusal.device);
    if (refusal.rule == Rule::not_watched_long) {
      since_.emplace(refusal.device, now);
      watching_ = true;
    }
  }
}

std::vector<std::pair<DeviceId, Milliseconds>> IdleWatch::watched(Instant now) const {
  std::vector<std::pair<DeviceId, Milliseconds>> watched;
  for (const auto& [device, since] : since_) {
    watched.emplace_back(device, Milliseconds(duration_cast<milliseconds>(now - since).count()));
  }
  return watched;
}

}  // namespace berth
