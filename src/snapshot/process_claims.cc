#include "snapshot/process_claims.h"

#include <algorithm>

#include "snapshot/questions.h"

namespace berth {

// Of two with one number the first counts: emplace() keeps what is there, the sort is stable.
ProcessClaims::ProcessClaims(const Snapshot& snapshot, std::span<const Claim> claims)
    : host_(&snapshot.host), claims_(claims) {
  processes_.reserve(snapshot.processes.size());
  for (const HostProcess& process : snapshot.processes) {
    processes_.emplace(process.id.pid, &process);
  }
  // Process 1 may be a container's job. On the machine itself it has started everybody's.
  const auto& view = snapshot.host.process_view.get();
  const pid_t nobodys = view && *view == "whole" ? 1 : 0;
  for (const Claim& claim : claims) {
    // A lease that does not say who its keeper is adopts nobody.
    if (claim.keeper) heads_.push_back({claim.keeper->pid, &claim});
    if (claim.job && claim.job->pid > nobodys) heads_.push_back({claim.job->pid, &claim});
  }
  std::ranges::stable_sort(heads_, {}, &Head::pid);
}

const HostProcess* ProcessClaims::process(pid_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second;
}

const Claim* ProcessClaims::nearest(pid_t pid, const auto& counts) const {
  const HostProcess* known = process(pid);
  if (known != nullptr && is_elsewhere(*known, *host_)) return nullptr;
  const auto headed_by = [&](pid_t one) -> const Claim* {
    for (const Head& head : std::ranges::equal_range(heads_, one, {}, &Head::pid)) {
      if (counts(*head.claim)) return head.claim;
    }
    return nullptr;
  };
  if (const Claim* own = headed_by(pid)) return own;
  if (known == nullptr) return nullptr;
  for (const pid_t ancestor : known->ancestors) {
    if (const Claim* above = headed_by(ancestor)) return above;
  }
  const auto around = std::ranges::find_if(claims_, [&](const Claim& claim) {
    return is_in_container_of(claim, *known) && counts(claim);
  });
  return around == claims_.end() ? nullptr : &*around;
}

const Claim* ProcessClaims::of(pid_t pid) const {
  return nearest(pid, [](const Claim&) { return true; });
}

const Claim* ProcessClaims::of(pid_t pid, const DeviceId& device) const {
  return nearest(pid, [&](const Claim& claim) {
    return std::ranges::find(claim.devices, device, &ClaimedDevice::device) != claim.devices.end();
  });
}

}  // namespace berth
