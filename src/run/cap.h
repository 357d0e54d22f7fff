#pragma once
// A run's cap before it starts: what this machine has of each tier, and what is set in the job's
// environment beside it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "guard/cap.h"
#include "place/job_spec.h"
#include "record/run_record.h"
#include "run/run.h"

namespace berth {

/// Whose memory is held: a job's that is to be started, or that of a program which runs already and
/// leases by itself. Into that no library can be brought, and it is not berth's to end.
enum class CapOf { job, running_program };

/// The tier that is to hold it. Nothing: whole devices are asked for, or none. unsupported: the one
/// that was asked for cannot be had here.
[[nodiscard]] Result<std::optional<RunCap>> cap_of(const RunOptions& options, CapOf whose);

/// What keeps the frameworks of the job's Python to their share (guard/framework_caps.h). Nothing
/// where its packages cannot be told for sure, or not within a moment.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> framework_settings(
    const RunCap& cap, const Manifest& manifest, const RunOptions& options, Clock& clock);

}  // namespace berth
