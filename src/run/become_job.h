#pragma once
// The step from the process that the keeper has forked to the user's command.

#include "base/result.h"
#include "run/keeper.h"

namespace berth {

/// In the child that becomes the job: what differs from the keeper it was forked from. Returns only
/// where the command cannot be run.
[[nodiscard]] Error become_job(const KeeperTask& task);

/// What went wrong before the command's turn came is not to be taken for a missing command.
[[nodiscard]] Error own_failure(const Error& error);

}  // namespace berth
