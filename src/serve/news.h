#pragma once
// What has changed between two looks that somebody should hear of at once. Pure.

#include <optional>
#include <string>
#include <vector>

#include "health/health.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

/// A finding that was not there before; or, `finding.state` being ok, that a device is well again.
struct HealthNews {
  WallTime at;
  DeviceId device;
  std::optional<int> index;
  HealthFinding finding;
};
[[nodiscard]] std::vector<HealthNews> health_news(const Snapshot& before, const Snapshot& after);

/// One line: {"at_unix_ms", "kind": "health", "device", "index", "state", "code", "evidence",
/// "advice"}.
[[nodiscard]] std::string to_json(const HealthNews& news);

}  // namespace berth::serve
