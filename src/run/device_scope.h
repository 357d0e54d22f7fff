#pragma once
// Holds root's jobs to their own device files where the kernel has too little of Landlock. A scope
// that systemd makes has device rules for this. `systemd-run --scope` becomes the command, so pid,
// parent, terminal and environment are the job's own. The scope is the system's, not a user
// manager's: no logout ends it. Root can leave it through another control group.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/isolate.h"

namespace berth {

/// The program that makes scopes, where a systemd runs; empty: none. `root` stands before paths.
[[nodiscard]] std::string systemd_run_in(const std::string& root);

/// The device files that the plan leaves open, each by itself: systemd knows no folders.
[[nodiscard]] std::vector<std::string> device_files_in(const IsolationPlan& plan);

/// The command in a scope in which only these device files, and terminals, can be opened. Pure.
[[nodiscard]] std::vector<std::string> in_device_scope(const std::string& systemd_run,
                                                       const std::vector<std::string>& device_files,
                                                       const std::vector<std::string>& command);

/// Whether such rules hold here: a scope that may open /dev/null is refused /dev/zero. unsupported:
/// says what systemd said.
[[nodiscard]] Result<void> try_device_scope(const std::string& systemd_run, Clock& clock);

}  // namespace berth
