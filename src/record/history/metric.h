#pragma once
// Which readings the history keeps, as whole numbers. Of a device: the numbers of the table of
// recorded readings, and what looks with details add. Of a process: two.

#include <cstdint>
#include <span>
#include <string_view>

#include "record/history/column.h"
#include "snapshot/recorded.h"
#include "snapshot/snapshot.h"

namespace berth::history {

struct MetricFacts {
  std::int64_t number;    // in files
  std::string_view key;   // as in snapshot/fields.h, with its unit
  std::string_view unit;  // of a chart's points
  /// Counters only grow; their charts show by how much per second, in `unit`.
  SeriesKind kind;
  /// What a stored number is divided by: percents are kept to a thousandth.
  std::int64_t scale;
  Cell (*read)(const Device& device);                 // null: of a process
  Cell (*read_process)(const GpuProcess& on_device);  // null: of a device
};

/// By their numbers.
[[nodiscard]] std::span<const MetricFacts> metrics();
/// By its number in a file; null: a newer version's.
[[nodiscard]] const MetricFacts* find_metric(std::int64_t number);
/// By its key. Null: none.
[[nodiscard]] const MetricFacts* find_metric(std::string_view key);

/// As it is kept: percents in thousandths.
[[nodiscard]] Entry entry_of(const Cell& cell);

}  // namespace berth::history
