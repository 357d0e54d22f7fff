#pragma once
// A time as somebody types it: a date of the local calendar, or how far it is from now.

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace berth {

/// Of what has been: "7d" ago, or a local "2026-11-21" or "2026-11-21 14:30". invalid: says what a
/// time looks like.
[[nodiscard]] Result<WallTime> parse_wall_time(const std::string& text, WallTime now);

/// Of what is to begin: "18:00" (the next time that it is so), "2h" from now, or such a date.
/// invalid: not to come, or further than a year away.
[[nodiscard]] Result<WallTime> parse_start(const std::string& text, WallTime now);

}  // namespace berth
