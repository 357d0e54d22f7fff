#include "place/forecast.h"

#include <algorithm>
#include <tuple>

#include "place/play.h"

namespace berth {

namespace {

constexpr std::size_t most_foreseen = 64;

/// A queue on its way through time.
class Forecast {
 public:
  Forecast(const Snapshot& snapshot, const Policy* policy)
      : machine_(snapshot), policy_(policy), starts_(snapshot.waiters.size()) {
    machine_.waiters.resize(std::min(machine_.waiters.size(), most_foreseen));
    for (std::size_t i = 0; i < machine_.waiters.size(); ++i) {
      if (!machine_.waiters[i].stuck) places_.push_back(i);
    }
    std::erase_if(machine_.waiters, [](const Waiter& waiter) { return waiter.stuck; });
  }

  std::vector<std::optional<WallTime>> run() {
    start_those_who_can();
    while (!places_.empty() && end_the_next()) start_those_who_can();
    return std::move(starts_);
  }

 private:
  void start_those_who_can() {
    gather();
    for (auto starts = starts_now(machine_, policy_); !starts.empty();
         starts = starts_now(machine_, policy_)) {
      begin(starts);
      gather();
    }
  }

  void begin(const std::vector<Start>& starts) {
    for (const Start& start : starts) {
      const Waiter& waiter = machine_.waiters[start.waiter];
      starts_[places_[start.waiter]] = machine_.taken;
      Claim claim = claim_of(waiter, start.devices);
      if (waiter.time_limit) {
        claim.ends = WallTime{machine_.taken.unix_ms + waiter.time_limit->count()};
      }
      machine_.claims.push_back(std::move(claim));
    }
    for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
      const auto at = static_cast<std::ptrdiff_t>(start->waiter);
      machine_.waiters.erase(machine_.waiters.begin() + at);
      places_.erase(places_.begin() + at);
    }
  }

  /// As the head does for itself.
  void gather() {
    for (Waiter& waiter : machine_.waiters) {
      waiter.gathered.clear();
      const auto request = request_from_json(waiter.request);
      const PlaceLimits its = limits_of(waiter, {.policy = policy_});
      std::optional<Placement> placement;
      if (request) placement = place(machine_, *request, its);
      if (!may_gather(waiter, placement, machine_.taken)) continue;
      if (placement && !placement->satisfied()) {
        waiter.gathered = worth_gathering(*placement, *request, machine_);
      }
      return;
    }
  }

  /// False: nothing more is known to end.
  bool end_the_next() {
    std::optional<WallTime> next;
    for (const Claim& claim : machine_.claims) {
      if (claim.ends && *claim.ends > machine_.taken && (!next || *claim.ends < *next)) {
        next = claim.ends;
      }
    }
    if (!next) return false;
    std::vector<Claim> left = machine_.claims;
    std::erase_if(left, [&](const Claim& claim) {
      return claim.ends && *claim.ends > machine_.taken && *claim.ends <= *next;
    });
    machine_ = without_ended(std::move(machine_), left);
    machine_.claims = std::move(left);
    machine_.taken = *next;
    return true;
  }

  Snapshot machine_;
  const Policy* policy_;
  std::vector<std::size_t> places_;  // of machine_.waiters among all
  std::vector<std::optional<WallTime>> starts_;
};

}  // namespace

Snapshot without_ended(Snapshot snapshot, const std::vector<Claim>& claims) {
  std::vector<DeviceId> given_back;
  for (const Claim& before : snapshot.claims) {
    for (const ClaimedDevice& one : before.devices) given_back.push_back(one.device);
  }
  for (const Claim& now : claims) {
    for (const ClaimedDevice& one : now.devices) std::erase(given_back, one.device);
  }
  std::erase_if(snapshot.gpu_processes,
                [&](const GpuProcess& process) { return contains(given_back, process.device); });
  for (Device& device : snapshot.devices) {
    if (contains(given_back, device.id)) make_unused(device);
  }
  return snapshot;
}

std::vector<DeviceId> worth_gathering(const Placement& placement, const Request& request,
                                      const Snapshot& snapshot) {
  const auto wanted = static_cast<std::size_t>(std::max(request.devices, 0));
  std::vector<DeviceId> devices;
  for (const Choice& choice : placement.available) {
    if (devices.size() < wanted) devices.push_back(choice.device);
  }
  // By when each comes free, worked out once. A lookup per comparison would dominate a year of a
  // large machine's queue.
  struct Leased {
    const Refusal* refusal;
    std::optional<WallTime> free_at;
  };
  std::vector<Leased> leased;
  for (const Refusal& refusal : placement.refused) {
    const bool by_a_lease = refusal.rule == Rule::leased || refusal.rule == Rule::memory;
    if (!by_a_lease || !refusal.may_change) continue;
    leased.push_back({&refusal, gathered_at({.gathered = {refusal.device}}, snapshot)});
  }
  std::ranges::stable_sort(leased, {}, [](const Leased& one) {
    return std::make_tuple(!one.free_at, one.free_at.value_or(WallTime{}),
                           one.refusal->holders.size());
  });
  for (const Leased& one : leased) {
    if (devices.size() < wanted) devices.push_back(one.refusal->device);
  }
  return devices;
}

void make_unused(Device& device) {
  if (device.memory_used.get()) device.memory_used = Bytes{0};
  device.utilization_gpu = Absent::unsupported;
  device.utilization_history = Absent::unsupported;
  device.process_count = Absent::unsupported;
}

GatherPhase gather_phase(std::chrono::milliseconds at_head) {
  // The exponent stops where a week is reached: no clock is to overflow.
  constexpr int longest = 10;
  std::chrono::milliseconds begin{0};
  for (int i = 0;; ++i) {
    const auto rest = begin + gather_limit * (1 << std::min(i, longest));
    if (at_head < rest) return {.gathers = true, .until = rest};
    begin = rest + gather_limit;
    if (at_head < begin) return {.gathers = false, .until = begin};
  }
}

std::vector<Start> starts_now(const Snapshot& snapshot, const Policy* policy) {
  const Played all = played(snapshot, snapshot.waiters.size(), {.policy = policy});
  std::vector<Start> starts;
  for (const Kept& kept : all.kept) {
    if (starts.empty() || starts.back().waiter != kept.waiter) starts.push_back({kept.waiter, {}});
    starts.back().devices.push_back(kept.part);
  }
  return starts;
}

std::vector<std::optional<WallTime>> expected_starts(const Snapshot& snapshot,
                                                     const Policy* policy) {
  return Forecast(snapshot, policy).run();
}

}  // namespace berth
