#pragma once
// Watching what runs now for a while, for `berth explain`.

#include <chrono>
#include <string>
#include <vector>

#include "app/context.h"
#include "app/explain_bottleneck.h"
#include "diagnose/bottleneck/activity.h"

namespace berth {

struct WatchedTarget {
  bottleneck::Activity activity;
  std::vector<std::string> remarks;  // translated
};

struct WatchOptions {
  std::chrono::milliseconds length{10'000};
  std::chrono::milliseconds interval{500};
};

/// Watches all of them at once. Ctrl-C ends it early: what was seen until then is the answer;
/// SIGTERM too. Progress is shown on stderr where that is a terminal.
[[nodiscard]] Result<std::vector<WatchedTarget>> watch_bottleneck(
    Context& context, const std::vector<BottleneckTarget>& targets, const WatchOptions& options);

}  // namespace berth
