#include "probe/sim/energy.h"

#include <algorithm>
#include <cstdint>

#include "probe/sim/load.h"
#include "probe/sim/motion.h"

namespace berth::sim {

namespace {

/// Seconds of full work since the job began: add_jobs lets it start from a tenth and be at full
/// work after nine tenths of a second.
double seconds_of_work(WallTime since, WallTime now) {
  const double seconds =
      static_cast<double>(std::max<std::int64_t>(0, now.unix_ms - since.unix_ms)) / 1000;
  constexpr double ramp = 0.9;
  const double within = std::min(seconds, ramp);
  return within * within / 2 + 0.1 * within + std::max(0.0, seconds - ramp);
}

double rate_of(const Device& device) {
  if (!device.power_draw.get() || !device.power_limit.get()) return 0;
  const auto idle = static_cast<double>(device.power_draw.get()->count());
  const double percent = device.utilization_gpu.get().value_or(Percent{0}).count();
  const double added = std::min(100.0, percent + job_percent);
  return (most_power_milliwatts(device, idle) - idle) * added / 100;
}

}  // namespace

JobEnergy::JobEnergy(const Snapshot& base) {
  for (const Device& device : base.devices) rates_[device.id] = rate_of(device);
}

void JobEnergy::end_those_not_in(const std::vector<Claim>& running, WallTime now) {
  std::erase_if(jobs_, [&](const auto& job) {
    const auto& [whose, since] = job;
    const bool runs = std::ranges::find(running, whose.first, &Claim::id) != running.end();
    if (!runs) used_[whose.second] += rates_[whose.second] * seconds_of_work(since, now);
    return !runs;
  });
}

void JobEnergy::add(Snapshot& snapshot, const std::vector<Claim>& running) {
  end_those_not_in(running, snapshot.taken);
  std::map<DeviceId, double> used = used_;
  for (const Claim& claim : running) {
    for (const ClaimedDevice& claimed : claim.devices) {
      jobs_.insert_or_assign({claim.id, claimed.device}, claim.since);
      used[claimed.device] += rates_[claimed.device] * seconds_of_work(claim.since, snapshot.taken);
    }
  }
  for (Device& device : snapshot.devices) {
    if (!device.energy.get() || device.lost || !device.unusable_because.empty()) continue;
    const auto found = used.find(device.id);
    if (found == used.end()) continue;
    device.energy = *device.energy.get() + Millijoules(static_cast<std::uint64_t>(found->second));
  }
}

}  // namespace berth::sim
