#pragma once
// What `berth explain` watches: the devices and processes that its word names.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/run_record.h"
#include "snapshot/snapshot.h"

namespace berth::bottleneck {

struct Target {
  std::string subject;            // "GPU 0", "run 2025…", "process 4711"; English
  std::vector<DeviceId> devices;  // may be empty: a process that is on none
  std::vector<pid_t> roots;       // the job's first processes
  std::optional<pid_t> keeper;    // of a run: not the job's, nor what is in its session
  std::string run;                // its id; empty: of no run that is known
  /// The watch ends when the roots do: somebody asked for the job, not for the device.
  bool ends_with_job = false;
};

/// A GPU, and the process or job that has most of it.
[[nodiscard]] Target device_target(const Device& device, const Snapshot& snapshot);
/// GPUs, by what `word` calls them; empty: it names none.
[[nodiscard]] std::vector<Target> named_targets(std::string_view word, const Snapshot& snapshot);
/// Every GPU that somebody computes on, holds memory of or has a lease of.
[[nodiscard]] std::vector<Target> busy_targets(const Snapshot& snapshot);
/// not_found: there is no such process.
[[nodiscard]] Result<Target> process_target(pid_t pid, const Snapshot& snapshot,
                                            const std::string& proc);
/// A run that goes on.
[[nodiscard]] Target run_target(const RunRecord& run);

}  // namespace berth::bottleneck
