#pragma once
// What computing does to a device's other readings, well enough that a table of them looks alive.
// Power, temperature, clocks, memory traffic and the history follow from the utilisation.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/claim.h"
#include "snapshot/device.h"
#include "snapshot/snapshot.h"

namespace berth::sim {

/// Sets what a device shows while it computes. `percent_ago` is its utilisation so many seconds
/// before now. Readings that the device does not have stay absent.
void put_under_load(Device& device, const std::function<double(double seconds)>& percent_ago);

/// What a device draws that computes all the time, if it draws `idle` milliwatts when it does not.
[[nodiscard]] double most_power_milliwatts(const Device& device, double idle);

/// Drivers tell the mean power of a second beside the moment's. Here they are the same, unless a
/// scenario says otherwise.
void tell_power_in_each_way(Device& device);

// What the jobs on simulated devices use: the devices' energy counters, which as real ones never go
// back, whatever jobs come and go.

/// The counters of one observer of one simulated server. Two observers agree about running jobs. Of
/// ended jobs each knows only those that it saw running.
class JobEnergy {
 public:
  /// `base`: the server without jobs.
  explicit JobEnergy(const Snapshot& base);
  /// Adds to the devices' counters what these jobs, and jobs that have ended, have used by now.
  /// Devices without a counter stay without.
  void add(Snapshot& snapshot, const std::vector<Claim>& running);

 private:
  void end_those_not_in(const std::vector<Claim>& running, WallTime now);
  std::map<DeviceId, double> rates_;                           // milliwatts that a job adds
  std::map<std::pair<std::string, DeviceId>, WallTime> jobs_;  // by claim; when they began
  std::map<DeviceId, double> used_;                            // millijoules of those that are gone
};

}  // namespace berth::sim
