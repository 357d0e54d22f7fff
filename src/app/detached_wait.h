#pragma once
// Waiting in the queue for a detached job: it gives the terminal back and survives it. The waiting
// process has a session of its own from the start. The process that the shell started stands before
// it, until it is known whether there is anything to wait for.

#include <functional>
#include <string>

#include "base/result.h"

namespace berth {

/// In `wait`: from here on it is alone. What it says goes to `log` (appended; empty: nowhere),
/// stdout is empty, and the process before it ends with 0.
using LetGo = std::function<void(const std::string& log)>;

/// What the waiter does if the process before it is killed and has not been let go.
enum class UntilLetGo { goes_on, ends_too };

/// Runs `wait` in a process of its own session. Stays in front of it until it ends or lets go. It
/// writes on what `wait` says on stderr, and passes Ctrl-C, TERM and QUIT on to it. It ends as
/// `wait` does. A closed terminal (SIGHUP) ends this process alone. stdout is that of `wait`; it
/// has no stdin.
///
/// The exit code; where `wait` ended by a signal, this does not return.
[[nodiscard]] Result<int> stand_before(const std::function<int(const LetGo&)>& wait,
                                       UntilLetGo until_let_go = UntilLetGo::goes_on);

}  // namespace berth
