#include "record/history/metric.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "snapshot/fields.h"

namespace berth::history {

namespace {

/// The unit of a chart's points, and the divisor of its stored numbers.
struct ChartUnit {
  std::string_view name;
  std::int64_t scale = 1;
};

/// Empty: nothing of such a unit has been recorded yet.
ChartUnit unit_of(std::string_view key, SeriesKind kind) {
  const Unit unit = find_field(key)->unit;
  if (unit == Unit::percent) return {"percent", 1000};
  if (unit == Unit::bytes) return {kind == SeriesKind::counter ? "bytes/s" : "bytes"};
  if (unit == Unit::milliwatts) return {"milliwatts"};
  if (unit == Unit::millijoules) return {"milliwatts"};  // by how much a second it grows
  if (unit == Unit::celsius) return {"celsius"};
  if (unit == Unit::megahertz) return {"megahertz"};
  if (unit == Unit::bytes_per_second) return {"bytes/s"};
  return {};
}

/// What no look has asked for yet is kept as what such a device never has: not at all.
template <Detail detail>
Cell read_detail(const Device& device) {
  const Cell& cell = device.details.cell(detail);
  const bool is_asked_for = cell.get() || cell.why() != Absent::not_sampled;
  return is_asked_for ? cell : Cell(Absent::unsupported);
}

/// From the last look with details, which is at most some seconds old.
template <Detail detail>
MetricFacts of_detail(std::int64_t number) {
  const std::string_view key = field_of(detail).key;
  const ChartUnit unit = unit_of(key, SeriesKind::gauge);
  return {number, key, unit.name, SeriesKind::gauge, unit.scale, read_detail<detail>, nullptr};
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
      of_detail<Detail::nvlink_sent_rate>(9),
      of_detail<Detail::nvlink_received_rate>(10),
      of_detail<Detail::activity_sm>(11),
      of_detail<Detail::activity_tensor>(12),
      of_detail<Detail::activity_dram>(13),
  };
  for (const RecordedReading& one : recorded_readings) {
    if (one.history_number == 0) continue;
    const ChartUnit unit = unit_of(one.key, one.kind);
    all.push_back(
        {one.history_number, one.key, unit.name, one.kind, unit.scale, one.read_device, nullptr});
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
