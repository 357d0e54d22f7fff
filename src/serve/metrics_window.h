#pragma once
// What /metrics keeps from look to look. WindowKeeper keeps the last minute of each device, in four
// numbers per reading. A scraper that comes every 30 s sees one look of thirty. These numbers cover
// all looks, and the driver's samples in between. They serve any scraper, however often it comes.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aggregate.h"
#include "base/clock.h"
#include "snapshot/fields.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

/// What the window has of one reading, in the unit of its field.
struct WindowStatistic {
  Aggregate<> looks;  // of each look the least, the mean and the most
  double p95 = 0;     // of the looks' means: nearest rank
};

struct DeviceWindow {
  DeviceId device;
  /// As window_rows(). Nothing: no look of the window had the reading.
  std::vector<std::optional<WindowStatistic>> statistics;

  /// Null: no look had it, or the window has no such reading.
  [[nodiscard]] const WindowStatistic* of(std::string_view key) const;
};

struct WindowStatistics {
  Duration span{};        // between its first look and its last
  std::size_t looks = 0;  // in it
  std::vector<DeviceWindow> devices;

  /// `position`: where it is likely to stand.
  [[nodiscard]] const DeviceWindow* of(const DeviceId& device, std::size_t position = 0) const;
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
    /// As window_rows(): of the driver's samples since the look before, where it keeps some.
    std::vector<Aggregate<>> values;
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

/// A reading that the window is kept of. These are the recorded readings that say so, and three
/// shares of the SMs' counters. Only a look at details has these three.
struct WindowRow {
  const Field* field = nullptr;
  /// "berth_device_window_power_watts".
  [[nodiscard]] std::string family() const;
};
[[nodiscard]] std::span<const WindowRow> window_rows();

/// How often each device had each XID error, and when last.
struct XidCount {
  std::string pci_address;  // as Device::pci_address
  std::uint64_t code = 0;
  std::uint64_t count = 0;
  WallTime last;
  friend bool operator==(const XidCount&, const XidCount&) = default;
};

/// A look tells old errors again, and one day no more: each is counted once, and never forgotten.
class XidTally {
 public:
  /// Absent: nothing is learned.
  void add(const Reading<std::vector<XidEvent>>& events);

  /// By device and code.
  [[nodiscard]] std::span<const XidCount> counts() const { return counts_; }

 private:
  void count(const XidEvent& event);

  std::vector<XidCount> counts_;
  std::uint64_t newest_ = 0;  // XidEvent::number
};

}  // namespace berth::serve
