#pragma once
// The tables of a history file, and its version.

#include <string>

#include "base/result.h"
#include "record/history/database.h"

namespace berth::history {

/// In `meta`, before the id of a device whose memory used is a lower bound.
inline const std::string used_is_bound_key = "used_is_bound ";

/// Kept as SQLite's user_version; the application_id says that it is ours ("bert").
inline constexpr std::int64_t format_version = 2;
inline constexpr std::int64_t application_id = 0x62657274;

/// Makes the tables of an empty file; of an older version's makes this one's.
/// unsupported: a newer version's, which is named. invalid: a database of something else.
[[nodiscard]] Result<void> prepare_for_writing(Database& database);
/// The same without changing anything. not_found: nothing has been written yet.
[[nodiscard]] Result<void> check_for_reading(Database& database);

}  // namespace berth::history
