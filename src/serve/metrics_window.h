#pragma once
// WindowKeeper: the last minute of each device in four numbers per reading. A scraper that comes
// every 30 s sees one look of thirty; what stands here is of all of them and of what the driver
// sampled in between, whoever scrapes, however often.

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "snapshot/fields.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

enum class WindowMetric {
  utilization,
  memory_utilization,
  memory_used,
  power,
  temperature,
  sm_clock,
  sm_activity,
  tensor_activity,
  dram_activity
};
constexpr std::size_t window_metric_count = 9;

/// What the window has of one reading, in the unit of its field.
struct WindowStatistic {
  double min = 0;
  double mean = 0;
  double p95 = 0;  // of the looks' means: nearest rank
  double max = 0;
  friend bool operator==(const WindowStatistic&, const WindowStatistic&) = default;
};

struct DeviceWindow {
  DeviceId device;
  /// Nothing: no look of the window had the reading.
  std::array<std::optional<WindowStatistic>, window_metric_count> statistics;
};

struct WindowStatistics {
  Duration span{};        // between its first look and its last
  std::size_t looks = 0;  // in it
  std::vector<DeviceWindow> devices;

  /// `position`: where it is likely to stand.
  [[nodiscard]] const DeviceWindow* of(const DeviceId& device, std::size_t position = 0) const;
};

/// One reading in one look: of the driver's samples since the look before, where it keeps some.
struct LookValue {
  double min = 0;
  double mean = 0;
  double max = 0;
};

class WindowKeeper {
 public:
  explicit WindowKeeper(Duration length = std::chrono::seconds(60)) : length_(length) {}

  /// A further look. `now` is the steady clock's: somebody may set the date.
  void add(const Snapshot& snapshot, Instant now);

  /// As of the newest look, devices in its order.
  [[nodiscard]] const WindowStatistics& statistics() const { return statistics_; }

 private:
  struct DeviceLook {
    DeviceId device;
    std::array<std::optional<LookValue>, window_metric_count> values;
  };
  struct WindowLook {
    Instant at;
    std::vector<DeviceLook> devices;
  };

  [[nodiscard]] static const DeviceLook* find(const WindowLook& look, std::size_t position,
                                              const DeviceId& device);
  [[nodiscard]] DeviceWindow summary(std::size_t position, const DeviceId& device) const;

  Duration length_;
  std::deque<WindowLook> looks_;
  WindowStatistics statistics_;
};

/// How a window's reading is called and converted.
struct WindowRow {
  std::string_view family;
  std::string_view help;
  Unit unit = Unit::none;
};
[[nodiscard]] const WindowRow& row_of(WindowMetric metric);

}  // namespace berth::serve
