#include "place/occupancy.h"

#include <algorithm>

#include "place/placement.h"
#include "snapshot/process_claims.h"
#include "snapshot/questions.h"

namespace berth {

Occupancy::Occupancy(const Snapshot& snapshot) {
  by_device_.reserve(snapshot.devices.size());
  const ProcessClaims runs(snapshot);
  for (const GpuProcess& use : snapshot.gpu_processes) {
    by_device_[use.device.text()].occupants.push_back(
        {&use, runs.process(use.pid), runs.of(use.pid, use.device)});
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
