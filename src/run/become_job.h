#pragma once
// The step from the process that the keeper has forked to the user's command.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "run/keeper.h"

namespace berth {

/// In the child that becomes the job: what differs from the keeper it was forked from. Returns only
/// where the command cannot be run.
[[nodiscard]] Error become_job(const KeeperTask& task);

/// A child that becomes the job, and what it says where it cannot.
struct StartedJob {
  pid_t pid = 0;
  Fd exec_result;
};
/// `tell_heir`: a line of run/handover.h, said by the job itself.
[[nodiscard]] Result<StartedJob> start_job(
    const KeeperTask& task, const std::function<void(const std::string&)>& tell_heir);
/// Why the command could not be run; nothing: it runs.
[[nodiscard]] std::optional<Error> failure_of(const StartedJob& job);

/// For a process that only watches: it keeps no terminal, no pipe and no mount busy.
void detach_from_caller(const RunOptions& options);

/// Marks a failure before the command's turn, so that it is not taken for a missing command.
[[nodiscard]] Error own_failure(const Error& error);

}  // namespace berth
