#pragma once
// Dates as nvidia-smi writes them, without locale and without the machine's time zone: the caller
// says how far from UTC the clock on the wall is.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace berth::smi {

/// "Tue Jul 14 08:12:38 2026", as in `-q`.
[[nodiscard]] std::string date_in_words(WallTime time, std::chrono::seconds utc_offset);
/// "2026/07/14 08:12:38.696", as in CSV.
[[nodiscard]] std::string date_with_milliseconds(std::int64_t unix_ms,
                                                 std::chrono::seconds utc_offset);
/// "20260714" and "08:12:38", as in dmon.
struct Stamp {
  std::string date;
  std::string time;
};
[[nodiscard]] Stamp stamp(WallTime when, std::chrono::seconds utc_offset);
/// Either of the first two forms, taken as UTC.
[[nodiscard]] std::optional<WallTime> read_date(std::string_view text);

}  // namespace berth::smi
