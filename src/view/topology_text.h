#pragma once
// How the devices are joined, and which would be chosen together.

#include <string>

#include "place/placement.h"
#include "place/request.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// `placement`: what a request for several would be given now.
[[nodiscard]] std::string render_topology(const Snapshot& snapshot, const Request& request,
                                          const Placement& placement, const Style& style);
[[nodiscard]] std::string topology_json(const Snapshot& snapshot, const Request& request,
                                        const Placement& placement);

}  // namespace berth
