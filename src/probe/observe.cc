#include "probe/observe.h"

#include <utility>

#include "base/tr.h"
#include "probe/sim/sim_probe.h"

namespace berth {

Result<Snapshot> observe(const Sources& sources, const ObserveOptions& options, Clock& clock) {
  Snapshot snapshot{.taken = clock.wall_now()};
  if (sources.simulated) {
    auto scenario = sim::load_scenario(*sources.simulated);
    if (!scenario) return std::unexpected(std::move(scenario).error());
    SimProbe(std::move(*scenario), options.claims).observe(snapshot);
    return snapshot;
  }
  return fail(ErrorCode::unsupported, "only simulated servers can be observed yet");
}

}  // namespace berth
