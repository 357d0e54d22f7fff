#pragma once
// Waiting in the queue for a detached job: it is to survive the terminal, so what waits is in a
// session of its own from the start, and the process that the shell started only stands before it.

#include <functional>

#include "base/result.h"

namespace berth {

/// Runs `wait` in a process of its own session and stays in front of it until it ends: writes on
/// what it says on stderr, passes Ctrl-C, TERM and QUIT on to it, and ends as it does. A closed
/// terminal (SIGHUP) ends this process alone. stdout is that of `wait`; stdin it has none.
///
/// The exit code; where `wait` ended by a signal, this does not return.
[[nodiscard]] Result<int> stand_before(const std::function<int()>& wait);

/// In `wait`: whether whoever stood before it has gone, so that nobody reads stderr any more.
[[nodiscard]] bool nobody_reads_stderr();

}  // namespace berth
