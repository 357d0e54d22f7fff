#pragma once
// What is known of a run that is over, and what several rules ask of it.

#include <string_view>
#include <vector>

#include "base/reading.h"
#include "diagnose/postmortem/log_text.h"
#include "diagnose/postmortem/neighbour.h"
#include "diagnose/postmortem/sibling_ranks.h"
#include "record/run_ranks.h"
#include "record/run_record.h"
#include "snapshot/finding.h"
#include "snapshot/process.h"

namespace berth {

/// What is at hand of a finished run. References outlive the value.
struct PostmortemEvidence {
  const RunRecord& run;
  std::vector<RunEvent> events;
  /// Allocations that were refused to hold the run to its share of memory.
  std::uint64_t refusals = 0;
  /// A user asked for its end (Ctrl-C, a signal to its launcher), whatever its exit code. The
  /// record does not hold that; the process that was there knows it.
  bool end_was_wanted = false;
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
  /// If berth started the run as several ranks. Nothing: it is one.
  std::optional<RunRanks> ranks = {};
};

/// Whether somebody, or its time limit, ended it: what was wrong with its devices by then did not.
[[nodiscard]] bool was_ended_on_purpose(const PostmortemEvidence& evidence);

/// Whether an entry of the kernel's log is of the time of the run, which has ended. The log's clock
/// is a second off at most, and the job may outlive an error a little.
[[nodiscard]] bool was_while_it_ran(WallTime at, const RunRecord& run);
/// The job itself, or a process of it that the driver named.
[[nodiscard]] bool is_process_of_run(pid_t pid, const PostmortemEvidence& evidence);
/// The signal that ended it, also where a shell in between made 128 + n of it; 0: none.
[[nodiscard]] int signal_of(const RunRecord& run);

/// Adds what the run's events of that kind say: the first eight of them.
void add_events(std::string_view kind, const PostmortemEvidence& evidence, Finding& finding);

}  // namespace berth
