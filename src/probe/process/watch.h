#pragma once
// The watching side: forks a probe process, reads what it tells, and does not wait for it longer
// than it is patient. A process stuck in the kernel cannot be killed, so after SIGKILL nobody
// waits: a new probe process goes on with what is left.

#include <sys/types.h>

#include <functional>
#include <optional>

#include "base/clock.h"
#include "probe/process/ask.h"
#include "probe/process/child.h"
#include "probe/process/patience.h"

namespace berth {

/// Ends a probe process that is given up; replaced in tests by one that cannot.
using EndChild = std::function<void(pid_t)>;

/// What this process finds out itself while the probe process looks, and the step of which that
/// relieves the probe process. It must not block.
struct Beside {
  wire::Step step;
  std::function<void(Snapshot&)> work;
};

struct Watched {
  Snapshot snapshot;
  EndingChild child;
};

/// Asks in probe processes until all is told or patience is over. Never fails: what is missing is
/// in the snapshot's problems.
[[nodiscard]] Watched watch(const Ask& ask, Snapshot start, const Patience& patience, Clock& clock,
                            const std::optional<Beside>& beside = std::nullopt,
                            EndChild end_child = nullptr);

}  // namespace berth
