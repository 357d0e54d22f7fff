#pragma once
// Recorded readings: what is kept of a device over time, said once. The sampler asks for all of
// them, and samples of runs hold all. The history, the metrics of the last minute, reports, top and
// the page walk this table for theirs. Key, unit and help are the field table's.
//
// To record a further reading: a member of DeviceSample, and its row at the end of the table. The
// compiler names each surface that lacks a title for it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/member_count.h"
#include "snapshot/cell.h"
#include "snapshot/device.h"
#include "snapshot/wanted.h"

namespace berth {

/// What is recorded of one device at one moment.
struct DeviceSample {
  Reading<Percent> utilization_gpu;
  Reading<Percent> utilization_memory;
  Reading<Bytes> memory_used;
  Reading<Milliwatts> power_draw;
  Reading<Celsius> temperature;
  Reading<Megahertz> clock_sm;
  Reading<Megahertz> clock_memory;
  Reading<Bytes> pcie_sent;
  Reading<Bytes> pcie_received;
  Reading<Millijoules> energy;
  friend bool operator==(const DeviceSample&, const DeviceSample&) = default;
};
[[nodiscard]] DeviceSample sample_of(const Device& device);

/// For charts; nothing: absent, or no number.
[[nodiscard]] std::optional<double> plain_number(const Cell& cell);

/// By how much a counter grew from one reading to the next. Nothing: one of them is absent, or the
/// counter began anew (a driver reloaded).
[[nodiscard]] std::optional<double> growth_in(const Cell& before, const Cell& now);

/// Between two readings further apart than this nobody was looking: what happened meanwhile is not
/// known, and is not guessed.
inline constexpr std::int64_t longest_step_ms = 10'000;

/// Counters only grow, and begin anew with the driver: they are shown as what they grow by a
/// second.
enum class SeriesKind { gauge, counter };

/// What shows a reading, besides the record of a run.
enum class Drawn : std::uint8_t {
  in_window = 1,  // the metrics of the last minute
  in_report = 2,  // a curve of its own
  live = 4,       // top and the page
};
constexpr Drawn operator|(Drawn a, Drawn b) {
  return static_cast<Drawn>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Drawn nowhere{};

struct RecordedReading {
  std::string_view key;  // its field's
  SeriesKind kind;
  Drawn drawn;
  /// Its number in files of the history, which no other is ever given; 0: it is not kept there.
  std::uint8_t history_number;
  Cell (*read)(const DeviceSample&);
  Cell (*read_device)(const Device&);
  void (*fill)(DeviceSample&, const Device&);
  void (*put)(Archive&, DeviceSample&);
  void (*want)(Wanted&);

  [[nodiscard]] constexpr bool is_drawn(Drawn where) const {
    return (static_cast<unsigned>(drawn) & static_cast<unsigned>(where)) != 0;
  }
};

template <auto InSample, auto InDevice>
constexpr RecordedReading recorded(std::string_view key, SeriesKind kind, Drawn drawn,
                                   std::uint8_t history_number) {
  return {key,
          kind,
          drawn,
          history_number,
          [](const DeviceSample& sample) { return cell_of(sample.*InSample); },
          [](const Device& device) { return cell_of(device.*InDevice); },
          [](DeviceSample& sample, const Device& device) { sample.*InSample = device.*InDevice; },
          [](Archive& archive, DeviceSample& sample) { berth::put(archive, sample.*InSample); },
          [](Wanted& wanted) { wanted.add<InDevice>(); }};
}

inline constexpr auto recorded_readings = [] {
  using enum Drawn;
  using enum SeriesKind;
  using S = DeviceSample;
  using D = Device;
  return std::to_array<RecordedReading>({
      recorded<&S::utilization_gpu, &D::utilization_gpu>("utilization_gpu_percent", gauge,
                                                         in_window | in_report | live, 1),
      recorded<&S::utilization_memory, &D::utilization_memory>("utilization_memory_percent", gauge,
                                                               in_window, 0),
      recorded<&S::memory_used, &D::memory_used>("memory_used_bytes", gauge,
                                                 in_window | in_report | live, 2),
      recorded<&S::power_draw, &D::power_draw>("power_draw_milliwatts", gauge,
                                               in_window | in_report | live, 3),
      recorded<&S::temperature, &D::temperature>("temperature_celsius", gauge,
                                                 in_window | in_report | live, 4),
      recorded<&S::clock_sm, &D::clock_sm>("clock_sm_megahertz", gauge, in_window | in_report, 5),
      recorded<&S::clock_memory, &D::clock_memory>("clock_memory_megahertz", gauge, nowhere, 0),
      recorded<&S::pcie_sent, &D::pcie_sent>("pcie_sent_bytes", counter, in_report, 7),
      recorded<&S::pcie_received, &D::pcie_received>("pcie_received_bytes", counter, in_report, 8),
      recorded<&S::energy, &D::energy>("energy_millijoules", counter, nowhere, 6),
  });
}();
static_assert(member_count<DeviceSample>() == recorded_readings.size(),
              "each member of DeviceSample has a row in recorded_readings");

/// Where it stands in the table; behind its end: it is not recorded.
constexpr std::size_t place_of_recorded(std::string_view key) {
  const auto* row = std::ranges::find(recorded_readings, key, &RecordedReading::key);
  return static_cast<std::size_t>(row - recorded_readings.begin());
}

/// Whether a table of titles has a row for each reading that is drawn there. `key_of` a row is the
/// reading's key; empty: no reading of a device.
template <class Rows, class KeyOf>
consteval bool has_all_drawn(Drawn where, const Rows& rows, KeyOf key_of) {
  for (const auto& row : rows) {
    const std::string_view key = std::invoke(key_of, row);
    const std::size_t place = place_of_recorded(key);
    if (key.empty()) continue;
    if (place == recorded_readings.size() || !recorded_readings[place].is_drawn(where))
      return false;
  }
  return std::ranges::all_of(recorded_readings, [&](const RecordedReading& one) {
    return !one.is_drawn(where) || std::ranges::count(rows, one.key, key_of) == 1;
  });
}

}  // namespace berth
