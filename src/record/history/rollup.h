#pragma once
// Rollup: what a series did in a minute or an hour, in a few numbers. Pure; the store keeps them,
// the queries merge them into the points of a chart.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/history/column.h"
#include "record/history/metric.h"

namespace berth::history {

inline constexpr std::int64_t hour_ms = 3'600'000;

/// In the stored numbers of the metric (of a counter: per second).
struct Rollup {
  std::uint64_t samples = 0;
  std::int64_t least = 0;
  std::int64_t mean = 0;
  std::int64_t p95 = 0;  // of samples: nearest rank. Of rollups: of those put together, at most
  std::int64_t most = 0;
  friend bool operator==(const Rollup&, const Rollup&) = default;
};

/// A number at a time; of a counter what it grew by per second, up to that time.
struct Point {
  std::int64_t at_ms = 0;
  std::int64_t number = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// The numbers of a series at these times. A counter gives none for its first entry, and none after
/// a pause longer than longest_step_ms. It gives none where it went back (the driver was reloaded).
/// `before`: the counter's last entry before these, if it is known.
[[nodiscard]] std::vector<Point> points_of(const MetricFacts& facts,
                                           std::span<const std::int64_t> times,
                                           std::span<const Entry> entries,
                                           std::optional<Point> before = std::nullopt);

/// Nothing: no numbers. Reorders them.
[[nodiscard]] std::optional<Rollup> rollup_of(std::vector<std::int64_t>& numbers);
/// Both together. Its p95 is the higher of theirs: never too low, and right where they behaved
/// alike.
[[nodiscard]] Rollup merged(const Rollup& a, const Rollup& b);

enum class Level : std::uint8_t { minute = 1, hour = 2 };
/// How long one rollup of the level is.
[[nodiscard]] constexpr std::int64_t step_of(Level level) {
  return level == Level::minute ? 60'000 : 3'600'000;
}
/// How many stand in one row of the store: an hour of minutes, a day of hours.
[[nodiscard]] constexpr std::size_t per_row(Level level) {
  return level == Level::minute ? 60 : 24;
}
[[nodiscard]] constexpr std::int64_t row_length(Level level) {
  return step_of(level) * static_cast<std::int64_t>(per_row(level));
}
/// The start of the step (row, …) of this length that a time is in; also before 1970.
[[nodiscard]] constexpr std::int64_t floor_to(std::int64_t time_ms, std::int64_t length) {
  const std::int64_t rest = time_ms % length;
  return time_ms - (rest < 0 ? rest + length : rest);
}

/// One row: nothing where nobody looked.
using RollupRow = std::vector<std::optional<Rollup>>;
[[nodiscard]] std::string encode_rollups(const RollupRow& row);
[[nodiscard]] Result<RollupRow> decode_rollups(std::string_view block, Level level);

}  // namespace berth::history
