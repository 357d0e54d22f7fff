#include "app/postmortem.h"

#include <set>
#include <utility>

#include "app/records.h"
#include "base/tr.h"
#include "diagnose/postmortem/memory_death.h"
#include "probe/driver_log.h"
#include "probe/procfs/procfs_probe.h"
#include "record/log_tail.h"
#include "record/record_writer.h"

namespace berth {

namespace {

void add_samples(const Context& context, const RunRecord& run, PostmortemEvidence& evidence) {
  constexpr std::size_t most = 100'000;
  std::set<pid_t> pids;
  NeighbourWatch neighbours;
  (void)read_samples(context, run, [&](const Sample& sample) {
    neighbours.add(sample);
    for (const ProcessSample& one : sample.processes) {
      if (pids.size() < most) pids.insert(one.pid);
    }
  });
  evidence.processes.assign(pids.begin(), pids.end());
  evidence.neighbours = neighbours.growths();
}

/// All records are read only where there can be a sibling among them.
void add_siblings(const Context& context, PostmortemEvidence& evidence) {
  if (!rank_place_of(evidence.run.manifest)) return;
  const auto state = records_directory(context);
  const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
  if (list) evidence.siblings = siblings_of(evidence.run, list->runs);
}

/// The kernel's log speaks of this machine alone, and of a simulated one's devices not at all.
void add_kernel_log(const Context& context, WallTime now, PostmortemEvidence& evidence) {
  if (evidence.run.state == RunState::elsewhere) return;
  const ProcfsProbe kernel({.kernel_log = context.sources().kernel_log});
  evidence.oom_kills = kernel.oom_kills(now);
  if (!context.sources().simulated && !evidence.run.manifest.given.simulated) {
    evidence.xids =
        DriverLog(context.sources().kernel_log, context.sources().proc).read(now).errors;
    evidence.driver_loads = kernel.driver_loads(now);
  }
}

/// Of a run with ranks, what the one printed that failed first: the others only tell of that.
RunRecord with_telling_log(const RunRecord& run, const std::optional<RunRanks>& ranks) {
  if (!ranks || ranks->ranks.empty()) return run;
  return with_log_of_rank(run, ranks->failed_first.value_or(0));
}

}  // namespace

GatheredPostmortem gather_postmortem(const Context& context, const RunRecord& run, Gather how,
                                     WallTime now) {
  GatheredPostmortem gathered{.log = nullptr,
                              .evidence = {.run = run,
                                           .events = events_of(run),
                                           .refusals = 0,
                                           .log = nullptr,
                                           .ranks = run_ranks_of(run)}};
  add_samples(context, run, gathered.evidence);
  gathered.evidence.refusals = refusals_of(run);
  if (how != Gather::without_kernel_log) add_kernel_log(context, now, gathered.evidence);
  if (how == Gather::without_log) return gathered;
  add_siblings(context, gathered.evidence);
  const RunRecord with_log = with_telling_log(run, gathered.evidence.ranks);
  if (!with_log.manifest.log) {
    gathered.why_no_log =
        tr("Its output went to where it was started and was not kept. With `berth run --detach` it "
           "is kept; or give it to `berth explain --log FILE`.");
    return gathered;
  }
  auto tail = read_log_tail(with_log);
  if (!tail) {
    gathered.why_no_log = tail.error().shown();
    return gathered;
  }
  gathered.log = std::make_unique<LogText>(tail->bytes, tail->cut);
  gathered.log_path = *with_log.manifest.log;
  gathered.evidence.log = gathered.log.get();
  return gathered;
}

}  // namespace berth
