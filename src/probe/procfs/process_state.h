#pragma once
// Where a process stands in the kernel, and whether it is connected at a port: for who asks what it
// waits for. Each may be read of one's own processes alone, or by root.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace berth {

struct KernelState {
  char state = '?';      // of /proc/PID/stat
  std::string waits_in;  // of /proc/PID/wchan; empty: it runs, or we may not know
};
/// Nothing: it has gone, also where another has its number now.
[[nodiscard]] std::optional<KernelState> kernel_state_of(const ProcessId& process,
                                                         const std::string& proc);

/// The kernel's functions that it is in, the innermost first. None: they may not be read.
[[nodiscard]] std::vector<std::string> kernel_stack_of(pid_t pid, const std::string& proc);

/// Whether one of these has a socket at this port of the first one's network. Nothing: that cannot
/// be told.
[[nodiscard]] std::optional<bool> has_socket_at(const std::vector<ProcessId>& processes,
                                                std::uint16_t port, const std::string& proc);

/// Whether it is a Python that prints its stack when it gets SIGABRT.
[[nodiscard]] bool has_faulthandler(pid_t pid, const std::string& proc);

}  // namespace berth
