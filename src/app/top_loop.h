#pragma once
// The loop around the live view: keys, signals and looks in, pictures out. It waits in one place
// for whatever comes first, and for none of them longer than the others allow.

#include <functional>
#include <optional>

#include "app/context.h"
#include "probe/replay/replay.h"
#include "top/model.h"
#include "top/settings.h"

namespace berth {

struct TopOptions {
  top::State state;  // theme, sort keys, filters, interval
  top::Settings remembered;
  /// Chooses devices on the first snapshot; null: all. An error ends it, told on the terminal.
  std::function<Result<std::vector<DeviceId>>(const Snapshot&)> choose;
  std::optional<Recording> recording;
};

/// The settings in this user's file. A setting that is missing, not understood, or in another
/// user's file has its default.
[[nodiscard]] top::Settings remembered_settings(const Context& context);

/// Returns the exit code.
[[nodiscard]] int run_top(Context& context, TopOptions options);

}  // namespace berth
