#pragma once
// What the jobs on simulated devices use: the devices' energy counters, which as real ones never go
// back, whoever comes and goes.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/claim.h"
#include "snapshot/snapshot.h"

namespace berth::sim {

/// Of one observer of one simulated server. Two observers agree about jobs that run; what jobs have
/// used that are gone, each knows only of those that it has seen running.
class JobEnergy {
 public:
  /// `base`: the server without jobs.
  explicit JobEnergy(const Snapshot& base);
  /// Adds to the devices' counters what these jobs have used by now, and those that were here
  /// before and are no more. Devices without a counter stay without.
  void add(Snapshot& snapshot, const std::vector<Claim>& running);

 private:
  void end_those_not_in(const std::vector<Claim>& running, WallTime now);
  std::map<DeviceId, double> rates_;                           // milliwatts that a job adds
  std::map<std::pair<std::string, DeviceId>, WallTime> jobs_;  // by claim; when they began
  std::map<DeviceId, double> used_;                            // millijoules of those that are gone
};

}  // namespace berth::sim
