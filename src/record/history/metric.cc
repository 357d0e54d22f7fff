#include "record/history/metric.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "snapshot/fields.h"

namespace berth::history {

namespace {

/// Of a chart's points, and what a stored number of it is divided by.
struct ChartUnit {
  std::string_view name;
  std::int64_t scale = 1;
};

/// Empty: nothing of such a unit has been recorded yet.
ChartUnit unit_of(const RecordedReading& reading) {
  const Unit unit = find_field(reading.key)->unit;
  if (unit == Unit::percent) return {"percent", 1000};
  if (unit == Unit::bytes) return {reading.kind == SeriesKind::counter ? "bytes/s" : "bytes"};
  if (unit == Unit::milliwatts) return {"milliwatts"};
  if (unit == Unit::millijoules) return {"milliwatts"};  // by how much a second it grows
  if (unit == Unit::celsius) return {"celsius"};
  if (unit == Unit::megahertz) return {"megahertz"};
  return {};
}

template <auto member>
Cell read_use(const GpuProcess& process) {
  return cell_of(process.*member);
}

std::vector<MetricFacts> all_metrics() {
  std::vector<MetricFacts> all = {
      {32, "process_memory_used_bytes", "bytes", SeriesKind::gauge, 1, nullptr,
       read_use<&GpuProcess::memory>},
      {33, "process_utilization_sm_percent", "percent", SeriesKind::gauge, 1000, nullptr,
       read_use<&GpuProcess::utilization_sm>},
  };
  for (const RecordedReading& one : recorded_readings) {
    if (one.history_number == 0) continue;
    const ChartUnit unit = unit_of(one);
    all.push_back(
        {one.history_number, one.key, unit.name, one.kind, unit.scale, one.read, nullptr});
  }
  std::ranges::sort(all, {}, &MetricFacts::number);
  return all;
}

template <class Known>
const MetricFacts* found(const Known& known, auto member) {
  const auto at = std::ranges::find(metrics(), known, member);
  return at == metrics().end() ? nullptr : &*at;
}

}  // namespace

std::span<const MetricFacts> metrics() {
  static const std::vector<MetricFacts> all = all_metrics();
  return all;
}

const MetricFacts* find_metric(std::int64_t number) { return found(number, &MetricFacts::number); }

const MetricFacts* find_metric(std::string_view key) { return found(key, &MetricFacts::key); }

Entry entry_of(const Cell& cell) {
  if (!cell.get()) return Entry(cell.why());
  const auto whole = [](const auto& value) -> Entry {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, double>) {
      // What is beyond this is no share of anything: a broken source.
      if (!(value >= 0 && value <= 1e6)) return Entry(Absent::failed);
      return Entry(std::int64_t{std::llround(value * 1000)});
    } else if constexpr (std::is_same_v<Value, std::string>) {
      return Entry(Absent::failed);
    } else {
      return Entry(static_cast<std::int64_t>(value));
    }
  };
  return std::visit(whole, *cell.get());
}

}  // namespace berth::history
