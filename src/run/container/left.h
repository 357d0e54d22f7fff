#pragma once
// Containers of runs that nobody keeps any more: who killed keeper and heir left them. A label
// alone can be forged: record, owner and container's id must agree.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "record/run_container.h"
#include "record/run_record.h"
#include "run/run.h"

namespace berth {

/// Replaces this process by the engine's program, asked what these words say. Returns on failure.
/// What a record names is executed: the caller's own alone.
[[nodiscard]] Error ask_engine(const RunContainer& container, std::vector<std::string> words);

/// Ends a container that no keeper watches any more, as its owner, and writes down how it ended.
[[nodiscard]] Result<StopResult> end_left_container(const RunRecord& run,
                                                    const RunContainer& container,
                                                    std::chrono::milliseconds grace, Clock& clock);

/// Ended runs of this user whose container lives on outside any lease.
struct LeftContainer {
  RunRecord run;
  RunContainer container;
};
/// Reads no record but those of containers that live: `berth status` can afford it.
[[nodiscard]] std::vector<LeftContainer> left_containers(const std::string& state_directory,
                                                         const std::string& proc = "/proc");

/// Those runs of this Slurm job that are not over. Slurm has ended what it knows of the job: of
/// some the container lives on, or has an end that their records have yet to be told.
[[nodiscard]] std::vector<RunRecord> runs_of_slurm_job(std::string_view job,
                                                       const std::vector<RunRecord>& runs,
                                                       std::vector<LeftContainer> left);

}  // namespace berth
