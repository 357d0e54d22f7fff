#pragma once
// Isolation: a job can open no device file of a card that is not its own. Landlock (Linux 5.19 and
// newer) does it, with root's rights or without. On older kernels a scope of systemd holds root's
// jobs (run/device_scope.h). plan_isolation() decides what stays open; it is pure. restrict_to()
// holds the calling process, and all that it starts, to that for good.
//
// It holds programs, and is no jail. Some processes outside start programs on request: a
// container's daemon, systemd, ssh. A job that may ask one of them gets outside.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

/// From this version on (Linux 6.10) Landlock also refuses ioctl() on certain descriptors. They are
/// those that were opened neither to read nor to write.
inline constexpr int version_with_ioctl = 5;

/// As the record has it.
inline constexpr std::string_view by_landlock = "landlock";
inline constexpr std::string_view by_systemd = "systemd";

/// What the machine has to do with it, before anything is restricted.
struct IsolationFacts {
  int landlock = 0;            // the version that the kernel has; 0: none
  int landlock_error = 0;      // what it said then (errno)
  bool is_privileged = false;  // root: setuid programs have nothing to give it
  std::string systemd_run;     // which makes root's scopes, where a systemd runs; empty: none
  /// Paths in /, in /dev, and in the folders of /dev that hold cards' files.
  std::vector<std::string> files;
  /// Each file of /dev/dri, and the PCI address of its card as /sys writes it: "0000:3b:00.0".
  std::vector<std::pair<std::string, std::string>> display_files;
  /// DeviceKindFacts::part_table. Empty: there is none.
  std::string instance_files;
};

/// `root` stands before every absolute path.
[[nodiscard]] IsolationFacts gather_isolation_facts(const std::string& root = "");

/// by_landlock or by_systemd.
[[nodiscard]] std::string_view means_of(const IsolationFacts& facts);

struct IsolationPlan {
  int landlock = 0;
  bool is_privileged = false;
  /// Paths that may be opened, with all below: the rest of / and /dev, and these devices' files.
  std::vector<std::string> open;
  std::vector<std::string> own;     // likewise; without one of them the job would be of no use
  std::vector<std::string> closed;  // that are there and are another card's
  std::string systemd_run = {};     // empty: by Landlock
};

/// unsupported: this kernel cannot do it. not_found: a file of the given devices is unknown or
/// missing, and could not be made inside any more. Both say what to do.
[[nodiscard]] Result<IsolationPlan> plan_isolation(const std::vector<DeviceId>& given,
                                                   const Snapshot& snapshot,
                                                   const IsolationFacts& facts);

/// The devices as CUDA and NVML show them inside: the given ones alone. They keep their order and
/// are counted from 0.
[[nodiscard]] Snapshot seen_inside(const std::vector<DeviceId>& given, const Snapshot& snapshot);

/// By Landlock, for the calling process and what it starts, irrevocably.
[[nodiscard]] Result<void> restrict_to(const IsolationPlan& plan);

/// Whether a process can be held so here and now: in a child, which is. A job that cannot be is
/// told so before it has waited for anything. unsupported: says why not.
[[nodiscard]] Result<void> try_isolation(const IsolationFacts& facts, Clock& clock);

/// unsupported: the command starts processes outside of its isolation (by a container's daemon), or
/// cannot work in it (sudo). Judged by the command's words.
[[nodiscard]] Result<void> fits_isolation(const std::vector<std::string>& command,
                                          bool is_privileged);

/// What it costs; what matters most comes first.
[[nodiscard]] std::vector<Sentence> costs_of(const IsolationPlan& plan);

/// All of the above before a job waits for its device. An error: it could not be isolated.
[[nodiscard]] Result<IsolationFacts> facts_to_isolate_by(const std::vector<std::string>& command,
                                                         bool is_simulated, Clock& clock);

}  // namespace berth
