#pragma once
// What has changed between two looks that somebody should hear of at once. Pure.

#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::serve {

/// Findings about devices that were not there before, and devices that are well again, each one
/// line of JSON: {"at_unix_ms", "kind": "health", "device", "index", "state", "code", "evidence",
/// "advice"}.
[[nodiscard]] std::vector<std::string> health_news(const Snapshot& before, const Snapshot& after);

}  // namespace berth::serve
