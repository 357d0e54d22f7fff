#pragma once
// Runs of a simulated server's past: records of the jobs that its history shows (probe/sim/life.h).
// So whatever reads records has something to show without a GPU. They are written once, beside the
// server's own records, and say that they are simulated.

#include <functional>
#include <optional>
#include <string>

#include "app/context.h"
#include "probe/sim/scenario.h"

namespace berth {

/// The state directory that records are in: Context::state_directory(). A server with a past has a
/// folder of its own there. So invented runs never stand among real ones.
[[nodiscard]] std::optional<std::string> place_of_runs(const Context& context);

/// Writes there what has ended since the last time, of four weeks at most. `each` is told which
/// share of it is done. A record that cannot be written is missing: no run depends on it.
void write_past_runs(const Context& context, const std::function<void(double share)>& each = {});

/// The simulated server that is looked at, if its scenario has a past. Nothing: it has none, or the
/// server is real.
[[nodiscard]] std::optional<sim::Scenario> scenario_with_past(const Context& context);

}  // namespace berth
