#include "probe/sim/sim_probe.h"

#include <utility>

#include "probe/sim/motion.h"

namespace berth {

SimProbe::SimProbe(sim::Scenario scenario, std::vector<Claim> claims)
    : scenario_(std::move(scenario)), claims_(std::move(claims)) {}

void SimProbe::observe(Snapshot& snapshot) {
  snapshot = sim::scenario_at(scenario_, snapshot.taken);
  sim::add_jobs(snapshot, claims_, scenario_.seed);
}

}  // namespace berth
