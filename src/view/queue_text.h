#pragma once
// The queue for people and programs: who waits for what and why, what is gathered for whom until
// when, and who starts when.

#include <string>
#include <vector>

#include "place/policy.h"
#include "snapshot/snapshot.h"
#include "view/idle_list.h"
#include "view/style.h"

namespace berth {

/// `policy`: null where there is none. `idle`: of those, the leases that the history knows are what
/// who waits is shown.
[[nodiscard]] std::string render_queue(const Snapshot& snapshot, const Policy* policy,
                                       const std::vector<IdleRow>& idle, const Style& style);
[[nodiscard]] std::string queue_json(const Snapshot& snapshot, const Policy* policy,
                                     const std::vector<IdleRow>& idle);

}  // namespace berth
