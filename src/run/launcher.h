#pragma once
// The launcher: the process that the shell started and that stays in its job control. It only
// waits. It stops when the job stops, passes on the signals that reached it alone, and ends as the
// job did.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/signals.h"
#include "run/faults.h"
#include "run/run.h"

namespace berth {

/// What is known about a signal that reached the launcher.
struct SignalFacts {
  ArrivedSignal signal;
  pid_t keeper = 0;            // or its heir
  bool sent_by_tree = false;   // by the job or a descendant of it
  bool sent_to_group = false;  // others in the launcher's process group got it as well
  bool job_in_group = true;    // the job still is in the launcher's process group
};
/// Whether somebody wants the job to end by it.
[[nodiscard]] bool asks_for_the_end(const SignalFacts& facts);
/// Whether the job has not had it yet and should.
[[nodiscard]] bool is_to_be_forwarded(const SignalFacts& facts);

/// What the keeper has told, in the end.
struct LauncherReport {
  std::optional<ProcessId> job;
  std::optional<Error> not_started;
  std::optional<Exit> exit;
  std::string because;
  bool keeper_lost = false;
  /// The container that goes on without the client, whose end `exit` is; empty: none.
  std::string runs_on;
  std::vector<FaultNews> faults;
  /// Somebody asked for the job's end: Ctrl-C, a signal to us.
  bool end_wanted = false;
};

struct LauncherTask {
  SignalQueue* signals = nullptr;
  pid_t keeper = 0;       // our child: its heir
  bool detached = false;  // leave as soon as the job has started
  bool alone = false;     // no shell's job control reaches us: nobody signals our process group
  std::function<void(const ProcessId&)> on_started;
  std::function<void(const RunNews&)> on_news;
  std::string proc = "/proc";
  Clock* clock = nullptr;
};

/// Waits for the job.
[[nodiscard]] LauncherReport wait_for_job(const LauncherTask& task, Fd from_keeper);

}  // namespace berth
