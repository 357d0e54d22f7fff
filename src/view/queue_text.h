#pragma once
// The queue for people and programs: who waits for what and why, what is gathered for whom until
// when, and who starts when.

#include <string>

#include "place/policy.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// `policy`: null where there is none.
[[nodiscard]] std::string render_queue(const Snapshot& snapshot, const Policy* policy,
                                       const Style& style);
[[nodiscard]] std::string queue_json(const Snapshot& snapshot, const Policy* policy);

}  // namespace berth
