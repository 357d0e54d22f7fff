#pragma once
// `berth status --all`: several servers, one line each, and below it what is wrong with that one.

#include <string>
#include <vector>

#include "snapshot/host_report.h"
#include "view/style.h"

namespace berth {

/// In the order given.
[[nodiscard]] std::string render_fleet(const std::vector<HostReport>& hosts, const Style& style);
/// One array of all, as GET /api/v1/hosts has them.
[[nodiscard]] std::string fleet_json(const std::vector<HostReport>& hosts);

}  // namespace berth
