#pragma once
// The keeper: forked before the job, it is the job's parent and adopts its orphans. It holds the
// lease, reaps the tree and closes the record. It outlives the launcher and the terminal.
//
// Its parent is its heir: a process that also holds the lease and sleeps until the keeper ends. If
// the keeper was killed, the heir takes its place. The kernel then hands the job's processes to the
// heir (PR_SET_CHILD_SUBREAPER). That holds whatever the job has closed, cleared or left.

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/signals.h"
#include "lease/ledger.h"
#include "record/record_writer.h"
#include "record/run_container.h"
#include "run/isolate.h"
#include "run/run.h"

namespace berth {

struct Binding;

/// Everything the keeper takes over from the launcher by being forked from it.
struct KeeperTask {
  const RunOptions* options = nullptr;
  const RunServices* services = nullptr;
  Ledger* ledger = nullptr;        // the one that the lease is in; null: no lease
  Lease* lease = nullptr;          // null: a run without a device
  RecordWriter* record = nullptr;  // null: unrecorded
  SignalQueue* signals = nullptr;
  Manifest manifest;
  std::vector<std::string> environment;      // the job's
  const IsolationPlan* isolation = nullptr;  // null: the job may open every device file
  const RunContainer* container = nullptr;   // null: the job is no container
  const Binding* binding = nullptr;          // null: the job runs on any CPU
  std::string own_ledger;  // directory of the ledger for runs inside this one; removed at the end
};

/// The life of the heir, which forks the keeper. What both tell the launcher, one line each; an
/// heir may say again what the keeper has said:
///
///   started PID START_TICKS      failed CODE TEXT (the command could not be run)
///   stopped SIGNAL               end EXIT_CODE SIGNAL DUMPED BECAUSE
///   say TEXT                     for the user
///   runs_on EXIT_CODE SIGNAL DUMPED CONTAINER   the engine's client has ended, its container lives
///   fault …                      a device has gone wrong (run/faults.h to_line)
[[nodiscard]] int keep_run(const KeeperTask& task, Fd to_launcher);

}  // namespace berth
