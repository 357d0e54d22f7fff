#pragma once
// The format of a series (doc/FORMATS.md, "Activity"): JSON Lines, the header first. A file may
// come from anybody: it is bounded, and what is no step is counted and left out.

#include <string>
#include <string_view>

#include "base/result.h"
#include "diagnose/bottleneck/activity.h"

namespace berth::bottleneck {

/// Header and steps, each line with its line break.
[[nodiscard]] std::string to_lines(const Activity& activity);

/// invalid: no header of a version that we know, more devices than a server has; says which line.
[[nodiscard]] Result<Activity> activity_from_lines(std::string_view text);

}  // namespace berth::bottleneck
