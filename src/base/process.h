#pragma once
// Processes: the only place that forks, executes, signals and waits (with src/guard). Signals go
// through a pidfd after the start time was compared, so a reused pid is never hit.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/ids.h"

namespace berth {

/// How a process ended: with an exit code, or by a signal.
struct Exit {
  int code = 0;      // meaningful when signal is 0
  int signal = 0;    // 0: it exited by itself
  bool dumped = false;
  friend bool operator==(const Exit&, const Exit&) = default;
};

/// What a shell would report: the code, or 128 + signal.
[[nodiscard]] int shell_exit_code(const Exit& exit);

[[nodiscard]] ProcessId own_process_id();

/// The process with this pid as of now. not_found: there is none.
[[nodiscard]] Result<ProcessId> identify_process(pid_t pid, const std::string& proc = "/proc");

/// Forks; the child runs `body`, then _exit()s with what it returns (no atexit handlers, no
/// buffers flushed). For single-threaded callers.
[[nodiscard]] Result<pid_t> fork_process(const std::function<int()>& body);

/// A descriptor that becomes readable when the process ends (pidfd_open by syscall(2), as glibc's
/// wrapper would need a newer glibc than we promise). unsupported before Linux 5.3.
[[nodiscard]] Result<Fd> open_pidfd(pid_t pid);

/// Sends a signal to exactly this process. not_found: it has ended, or the pid is another's now.
[[nodiscard]] Result<void> send_signal(ProcessId process, int signal);
/// Sends a signal to a process group.
[[nodiscard]] Result<void> send_signal_to_group(pid_t group, int signal);

/// Waits for a child. Without a deadline in sight: use open_pidfd and poll first.
[[nodiscard]] Result<Exit> reap(pid_t child);
/// The child's end if it has ended, nothing if it still runs.
[[nodiscard]] Result<std::optional<Exit>> reap_if_ended(pid_t child);

/// Replaces this process. Only returns on failure; `environment` holds NAME=value strings.
/// The error's code is not_found (exit 127 by convention) or no_permission (126) or io.
[[nodiscard]] Error execute(const std::vector<std::string>& command,
                            const std::vector<std::string>& environment,
                            const std::string& search_path);

/// Looks `name` up as execvp would, in `search_path` (colon separated).
[[nodiscard]] Result<std::string> find_executable(const std::string& name,
                                                  const std::string& search_path);

}  // namespace berth
