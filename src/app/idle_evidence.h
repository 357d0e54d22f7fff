#pragma once
// What the history of `berth serve` tells of idle devices, for `berth idle` and `berth queue`.

#include "app/context.h"
#include "view/idle_list.h"

namespace berth {

/// The evidence on the devices that somebody holds, for the last day. Says why there is none.
[[nodiscard]] IdleEvidence idle_evidence(const Context& context, const Snapshot& snapshot);

}  // namespace berth
