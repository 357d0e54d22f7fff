#pragma once
// `berth explain` for what runs now, and for a run that ended well: wiring only.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/context.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth {

// Whom `berth explain` watches: what the word on the command line names, as devices and processes.

struct BottleneckTarget {
  std::string subject;            // "GPU 0", "run 2025…", "process 4711"; English
  std::vector<DeviceId> devices;  // may be empty: a process that is on none
  std::vector<pid_t> roots;       // the job's first processes
  std::optional<pid_t> keeper;    // of a run: not the job's, nor what is in its session
  std::string run;                // its id; empty: of no run that is known
  /// The watch ends when the roots do: somebody asked for the job, not for the device.
  bool ends_with_job = false;
};

/// A GPU, by what `word` calls it; nothing: it names none.
[[nodiscard]] std::vector<BottleneckTarget> device_targets(const std::string& word,
                                                           const Snapshot& snapshot);
/// Every GPU that somebody computes on, holds memory of or has a lease of.
[[nodiscard]] std::vector<BottleneckTarget> busy_targets(const Snapshot& snapshot);
/// not_found: there is no such process.
[[nodiscard]] Result<BottleneckTarget> process_target(pid_t pid, const Snapshot& snapshot,
                                                      const std::string& proc);
/// A run that goes on.
[[nodiscard]] BottleneckTarget run_target(const RunRecord& run);

struct BottleneckOptions {
  std::chrono::milliseconds length{10'000};
  std::string save;  // empty: nowhere
  bool json = false;
};

/// What explain exits with where it could not look.
constexpr int could_not_look = 3;

/// Watches, answers on stdout. The exit code is by the worst finding: 0 none or hints, 1 warnings.
[[nodiscard]] int explain_targets(Context& context, const std::vector<BottleneckTarget>& targets,
                                  const BottleneckOptions& options);
/// A saved series; "-" is stdin.
[[nodiscard]] int explain_series(Context& context, const std::string& path,
                                 const BottleneckOptions& options);
/// A run's record.
[[nodiscard]] int explain_run_bottleneck(Context& context, const RunRecord& run,
                                         const BottleneckOptions& options);

}  // namespace berth
