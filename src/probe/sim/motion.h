#pragma once
// A scenario's numbers at one instant: pure functions of the scenario and the time.

#include <cstdint>
#include <vector>

#include "probe/sim/scenario.h"
#include "snapshot/claim.h"

namespace berth::sim {

/// The simulated server as of `now`.
[[nodiscard]] Snapshot scenario_at(const Scenario& scenario, WallTime now);

/// Lets the jobs of these claims show on the devices that they hold. Each has a process, whose
/// memory is there within a second: 60 % of the promise, or of the device. Utilisation is about 90
/// %, with power and heat to match. Claims without a job, or on devices that the server does not
/// have, show nothing. Does not touch Snapshot::claims. What they use counts in probe/sim/load.h.
void add_jobs(Snapshot& snapshot, const std::vector<Claim>& claims, std::uint64_t seed);

/// The process of a claim's job that has computed for so long, as /proc would show it.
[[nodiscard]] HostProcess process_of(const Claim& claim, double seconds);
/// Somebody on the device has these.
void take_memory(Device& device, Bytes bytes);

/// What a job adds to a device's utilisation, in the mean.
inline constexpr double job_percent = 91;

/// A number in [-1, 1] that follows from its arguments alone.
[[nodiscard]] double noise_at(std::uint64_t seed, std::uint64_t stream, std::int64_t step);

}  // namespace berth::sim
