#include "place/occupancy.h"

#include <algorithm>

#include "place/placement.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using ClaimsByPid = std::unordered_map<pid_t, std::vector<const Claim*>>;
using ProcessesByPid = std::unordered_map<pid_t, const HostProcess*>;

ClaimsByPid claims_by_pid(const Snapshot& snapshot) {
  ClaimsByPid claims;
  for (const Claim& claim : snapshot.claims) {
    // A lease that does not say who its keeper is must not adopt every process.
    if (claim.keeper.pid > 0) claims[claim.keeper.pid].push_back(&claim);
    if (claim.job && claim.job->pid > 0) claims[claim.job->pid].push_back(&claim);
  }
  return claims;
}

bool is_on(const Claim& claim, const DeviceId& device) {
  return std::ranges::find(claim.devices, device, &ClaimedDevice::device) != claim.devices.end();
}

/// The claim on `device` that the process or one of its ancestors keeps, or in whose container the
/// process is. The number of a process elsewhere proves nothing.
const Claim* claim_on(const DeviceId& device, pid_t pid, const HostProcess* process,
                      const ClaimsByPid& claims, const Snapshot& snapshot) {
  if (process != nullptr && is_elsewhere(*process, snapshot.host)) return nullptr;
  const auto among = [&](pid_t candidate) -> const Claim* {
    const auto found = claims.find(candidate);
    if (found == claims.end()) return nullptr;
    const auto own = std::ranges::find_if(
        found->second, [&](const Claim* claim) { return is_on(*claim, device); });
    return own == found->second.end() ? nullptr : *own;
  };
  if (const Claim* own = among(pid)) return own;
  if (process == nullptr || claims.empty()) return nullptr;
  for (const pid_t ancestor : process->ancestors) {
    if (const Claim* inherited = among(ancestor)) return inherited;
  }
  const auto around = std::ranges::find_if(snapshot.claims, [&](const Claim& claim) {
    return is_in_container_of(claim, *process) && is_on(claim, device);
  });
  return around == snapshot.claims.end() ? nullptr : &*around;
}

}  // namespace

Occupancy::Occupancy(const Snapshot& snapshot) {
  by_device_.reserve(snapshot.devices.size());
  const ClaimsByPid claims = claims_by_pid(snapshot);
  ProcessesByPid processes;
  for (const HostProcess& process : snapshot.processes) processes[process.id.pid] = &process;
  for (const GpuProcess& use : snapshot.gpu_processes) {
    const auto found = processes.find(use.pid);
    const HostProcess* process = found == processes.end() ? nullptr : found->second;
    by_device_[use.device.text()].occupants.push_back(
        {&use, process, claim_on(use.device, use.pid, process, claims, snapshot)});
  }
  for (const Claim& claim : snapshot.claims) {
    for (const ClaimedDevice& device : claim.devices) {
      by_device_[device.device.text()].promises.push_back({&claim, device.promised});
    }
  }
}

DeviceOccupancy Occupancy::of(const Device& device) const {
  const auto own = by_device_.find(device.id.text());
  DeviceOccupancy occupancy = own == by_device_.end() ? DeviceOccupancy{} : own->second;
  if (device.parent) add_instance_of(device, occupancy);
  return occupancy;
}

void Occupancy::add_instance_of(const Device& instance, DeviceOccupancy& occupancy) const {
  const auto parent = by_device_.find(instance.parent->text());
  if (parent == by_device_.end()) return;
  for (const Occupant& occupant : parent->second.occupants) {
    if (may_be_on_instance(*occupant.use, instance)) occupancy.occupants.push_back(occupant);
  }
  const auto& promises = parent->second.promises;
  occupancy.promises.insert(occupancy.promises.end(), promises.begin(), promises.end());
}

Reading<Bytes> promisable_memory(const Device& device, const DeviceOccupancy& occupancy) {
  if (!device.memory_total.get()) return device.memory_total.why();
  if (!device.memory_used.get()) return device.memory_used.why();

  // Where the driver does not tell `reserved` apart it is part of `used`.
  Bytes taken = device.memory_reserved.get().value_or(Bytes{0});
  Bytes explained;
  for (const Promise& promise : occupancy.promises) {
    if (!promise.promised) return Bytes{0};
    Bytes used;
    for (const Occupant& occupant : occupancy.occupants) {
      const bool is_its = promise.claim != nullptr && occupant.claim == promise.claim;
      if (!is_its || !occupant.use->memory.get()) continue;
      used += *occupant.use->memory.get();
    }
    explained += used;
    taken += std::max(used, *promise.promised);
  }
  // What no claim's process explains is strangers'. The driver's two counts are taken at different
  // moments: never below zero.
  taken += minus(*device.memory_used.get(), explained).value_or(Bytes{0});
  return minus(*device.memory_total.get(), taken).value_or(Bytes{0});
}

Reading<Bytes> promisable_memory(const Device& device, const Snapshot& snapshot) {
  DeviceOccupancy here = Occupancy(snapshot).of(device);
  for (const Waiter& waiter : snapshot.waiters) {
    for (const ClaimedDevice& part : waiter.reserved) {
      const bool is_it = part.device == device.id || part.device == device.parent;
      if (is_it) here.promises.push_back({.promised = part.promised});
    }
  }
  return promisable_memory(device, here);
}

}  // namespace berth
