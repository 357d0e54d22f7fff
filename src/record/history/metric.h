#pragma once
// Which readings the history keeps, as whole numbers. The values of Metric are written in files:
// they are never given to something else.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record/history/column.h"
#include "snapshot/snapshot.h"

namespace berth::history {

enum class Metric : std::uint8_t {
  utilization_gpu = 1,
  memory_used = 2,
  power_draw = 3,
  temperature = 4,
  clock_sm = 5,
  energy = 6,
  pcie_sent = 7,
  pcie_received = 8,
  process_memory = 32,
  process_sm = 33,
};

struct MetricFacts {
  Metric metric;
  std::string_view key;   // as in snapshot/fields.h, with its unit
  std::string_view unit;  // of a chart's points
  /// Counters only grow; their charts show by how much per second, in `unit`.
  bool is_counter;
  /// What a stored number is divided by: percents are kept to a thousandth.
  std::int64_t scale;
  Entry (*read)(const Device& device);                 // null: of a process
  Entry (*read_process)(const GpuProcess& on_device);  // null: of a device
};

[[nodiscard]] std::span<const MetricFacts> metrics();
[[nodiscard]] const MetricFacts& facts_of(Metric metric);
/// By its number in a file; null: a newer version's.
[[nodiscard]] const MetricFacts* find_metric(std::int64_t number);
/// By its key. Null: none.
[[nodiscard]] const MetricFacts* find_metric(std::string_view key);

}  // namespace berth::history
