#pragma once
// Runs of a simulated server's past: records of the jobs that its history shows (probe/sim/life.h),
// so that whatever reads records has something to show without a GPU. They are written once, where
// the server's own records are, and say that they are simulated.

#include <functional>
#include <optional>
#include <string>

#include "app/context.h"

namespace berth {

/// The state directory that records are in: Context::state_directory(), of a server with a past a
/// folder of its own there, so that invented runs never stand among those that somebody had.
[[nodiscard]] std::optional<std::string> place_of_runs(const Context& context);

/// Writes there what has ended since the last time, of four weeks at most; `each` is told which
/// share of it is done. What cannot be written is not there: no run depends on it.
void write_past_runs(const Context& context, const std::function<void(double share)>& each = {});

}  // namespace berth
