#pragma once
// Who is on each device: the snapshot's processes and claims, sorted by device once. Judging many
// devices then does not search the lists for each. Internal to src/place.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// One process on a device.
struct Occupant {
  const GpuProcess* use = nullptr;
  const HostProcess* process = nullptr;  // null: /proc does not show it
  const Claim* claim = nullptr;          // the claim on this device it runs under; null: a stranger
};

/// One claim on a device.
struct Promise {
  const Claim* claim = nullptr;   // null: not yet one, reserved for a waiter
  std::optional<Bytes> promised;  // nothing: the whole device
};

struct DeviceOccupancy {
  std::vector<Occupant> occupants;
  std::vector<Promise> promises;
};

class Occupancy {
 public:
  /// Refers into the snapshot, which must outlive it.
  explicit Occupancy(const Snapshot& snapshot);

  /// A MIG instance also has the claims on its parent. It has the parent's processes, too, but
  /// those that the driver places on another instance.
  [[nodiscard]] DeviceOccupancy of(const Device& device) const;

 private:
  void add_instance_of(const Device& instance, DeviceOccupancy& occupancy) const;

  std::unordered_map<std::string_view, DeviceOccupancy> by_device_;  // by DeviceId::text()
};

/// What can still be promised on the device (place/placement.h promisable_memory).
[[nodiscard]] Reading<Bytes> promisable_memory(const Device& device,
                                               const DeviceOccupancy& occupancy);

}  // namespace berth
