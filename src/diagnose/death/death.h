#pragma once
// Why did a run die? Rules over a finished record and whatever else is known of the time: its
// events, its detached log, the kernel's log. Each rule is a file of its own; one that has nothing
// to say says nothing, and of a run that ended well there is nothing to say at all.

#include <optional>
#include <string>
#include <vector>

#include "base/reading.h"
#include "diagnose/death/log_text.h"
#include "diagnose/death/neighbour.h"
#include "diagnose/death/sibling_ranks.h"
#include "diagnose/finding.h"
#include "record/run_record.h"
#include "snapshot/driver_load.h"
#include "snapshot/oom_kill.h"

namespace berth {

/// What is at hand of a finished run. References outlive the value.
struct DeathEvidence {
  const RunRecord& run;
  std::vector<RunEvent> events;
  /// Processes of the run that the driver named.
  std::vector<pid_t> processes;
  /// By the run's samples.
  std::vector<NeighbourGrowth> neighbours;
  /// Other ranks of its job that were runs of their own.
  std::vector<SiblingRank> siblings;
  /// Null: there is none, or it could not be read.
  const LogText* log = nullptr;
  /// From the kernel log as it is now. no_permission: it is root's; not_sampled: nobody asked.
  Reading<std::vector<XidEvent>> xids;
  Reading<std::vector<OomKill>> oom_kills;
  Reading<std::vector<DriverLoad>> driver_loads;
};

/// The surest first; empty: it ended well, or nothing is known.
[[nodiscard]] Findings explain_death(const DeathEvidence& evidence);

/// It has ended, and not with 0.
[[nodiscard]] bool has_failed(const RunRecord& run);
/// It has ended with 0. Of a run whose end is not known neither is true.
[[nodiscard]] bool ended_well(const RunRecord& run);

/// The one that is worth a line when the job has just ended: a cause that the line about its end
/// does not tell already. Nothing: there is none.
[[nodiscard]] std::optional<Finding> cause_to_tell(const Findings& findings);

// The rules, in the order in which they are asked.
[[nodiscard]] Findings death_by_berth(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_device(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_driver_reset(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_oom_killer(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_log(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_neighbour(const DeathEvidence& evidence);
[[nodiscard]] Findings death_perhaps_by_neighbour(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_sibling_rank(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_signal(const DeathEvidence& evidence);
[[nodiscard]] Findings death_without_cause(const DeathEvidence& evidence);

/// Whether the kernel's log speaks of the time of the run, which has ended: its clock is a second
/// off at most, and the job may outlive an error a little.
[[nodiscard]] bool was_while_it_ran(WallTime at, const RunRecord& run);
/// The job itself, or a process of it that the driver named.
[[nodiscard]] bool is_process_of_run(pid_t pid, const DeathEvidence& evidence);
/// The signal that ended it, also where a shell in between made 128 + n of it; 0: none.
[[nodiscard]] int signal_of(const RunRecord& run);
/// "SIGKILL (9)".
[[nodiscard]] std::string signal_name(int signal);

}  // namespace berth
