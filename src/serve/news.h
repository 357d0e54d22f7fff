#pragma once
// Compares two looks. What has changed is announced at once. What the newer look did not ask for is
// filled in from the older. Pure.

#include <optional>
#include <string>
#include <vector>

#include "health/health.h"
#include "record/history/event.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

/// A finding that was not there before, or one that has gone.
struct HealthNews {
  WallTime at;
  DeviceId device;
  std::optional<int> index;
  Finding finding;
  bool is_over = false;
};
/// Where a device could be examined less than before, nothing has ended: it was only not seen.
[[nodiscard]] std::vector<HealthNews> health_news(const std::vector<DeviceHealth>& before,
                                                  const std::vector<DeviceHealth>& after,
                                                  WallTime at);

/// What is kept of it; nothing: an error of the driver is kept as such.
[[nodiscard]] std::optional<HistoryEvent> event_of(const HealthNews& news);
/// One line: {"at_unix_ms", "kind": "health", "device", "index", "state", "code", "evidence",
/// "advice"}.
[[nodiscard]] std::string to_json(const HealthNews& news);

/// What a look that asked for no details is given of the last that did. What it read itself stays;
/// of a lost card nothing is known any more.
void add_details(const Snapshot& earlier, Snapshot& snapshot);

}  // namespace berth::serve
