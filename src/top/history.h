#pragma once
// History: what devices and processes did while somebody watched, in rings. A column of a chart
// covers all its samples. So no spike and no gap is lost on a screen narrower than the time shown.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/aggregate.h"
#include "base/clock.h"
#include "snapshot/recorded.h"
#include "snapshot/snapshot.h"
#include "top/host_use.h"

namespace berth::top {

class Series {
 public:
  explicit Series(std::size_t capacity = 4096) : capacity_(capacity) {}
  void add(std::optional<float> value);
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::optional<float> latest() const;
  [[nodiscard]] std::optional<float> most() const { return most_; }
  /// The newest last, each over `samples_each` samples; empty where there are none or all are
  /// absent. A sample stays in the column with its neighbours as time goes on.
  [[nodiscard]] std::vector<Aggregate<float>> columns(std::size_t count,
                                                      std::size_t samples_each) const;

 private:
  [[nodiscard]] std::optional<float> at(std::size_t number) const;

  std::size_t capacity_;
  std::size_t added_ = 0;  // since the beginning
  std::optional<float> most_;
  std::vector<std::optional<float>> values_;
};

/// Fields that are charted here and drawn live nowhere else.
inline constexpr std::array<std::string_view, 4> seen_only = {
    "utilization_encoder_percent", "utilization_decoder_percent", "fan_speed_percent",
    "clock_sm_megahertz"};
static_assert(std::ranges::none_of(seen_only, [](std::string_view key) {
  const std::size_t place = place_of_recorded(key);
  return place < recorded_readings.size() && recorded_readings[place].is_drawn(Drawn::live);
}));
/// In the field's unit. Nothing: absent, or no number.
[[nodiscard]] std::optional<float> seen_now(std::string_view key, const Device& device);

/// Each recorded reading that is drawn live, and those that are seen here only.
class DeviceHistory {
 public:
  /// Null: the device was not there.
  void add(const Device* device);
  [[nodiscard]] const Series& of(std::string_view key) const;

 private:
  std::array<Series, seen_only.size()> seen_only_;
  std::array<Series, recorded_readings.size()> series_;  // of those that are not: empty
};

/// What the host did beside its devices, and the mean of these. All but the load in percent.
struct HostHistory {
  Series cpu;
  Series memory;
  Series load;
  Series devices_busy;
  Series devices_full;
};

struct ProcessHistory {
  static constexpr std::size_t capacity = 1024;
  Series memory{capacity};  // GiB
  Series sm{capacity};      // percent
  Series cpu{capacity};     // percent of a core
  WallTime seen;
  void add_blank();
};

/// The processes' use of a core between the last two looks.
class CpuShares {
 public:
  /// Forgets processes that are not in it.
  void add(const Snapshot& snapshot);
  /// Percent of a core. Nothing: the process was not in both looks with a counter that went on.
  [[nodiscard]] std::optional<double> of(const ProcessId& id) const;

 private:
  struct Used {
    ProcessId id;
    WallTime looked;
    std::optional<WallTime> read;
    Milliseconds time;
    std::optional<double> share = {};
  };
  [[nodiscard]] static const Used* find(const std::vector<Used>& used, const ProcessId& id);

  std::vector<Used> used_;  // sorted by id
};

/// Over the devices that tell it, in percent; nothing: none does. MIG instances count with the card
/// that they are part of.
struct DevicesMean {
  std::optional<float> busy;
  std::optional<float> full;
};
[[nodiscard]] DevicesMean mean_of_devices(const Snapshot& snapshot);

class History {
 public:
  /// `cadence`: how often snapshots come; where one is missing, so is a sample.
  explicit History(Duration cadence) : cadence_(cadence) {}
  void set_cadence(Duration cadence) { cadence_ = cadence; }
  void add(const Snapshot& snapshot);
  /// Adds the host's use in the same look.
  void add_host(const HostUse& use);
  [[nodiscard]] const HostHistory& host() const { return host_; }

  /// Null: nothing is known of it.
  [[nodiscard]] const DeviceHistory* device(const DeviceId& id) const;
  [[nodiscard]] const ProcessHistory* process(const DeviceId& device, const ProcessId& id) const;
  [[nodiscard]] const CpuShares& cpu() const { return cpu_; }

 private:
  void add_devices(const Snapshot& snapshot);
  void add_processes(const Snapshot& snapshot);
  void add_blanks(std::size_t count);

  Duration cadence_;
  std::optional<WallTime> last_;
  HostHistory host_;
  std::map<DeviceId, DeviceHistory> devices_;
  std::map<ProcessId, std::map<DeviceId, ProcessHistory>> processes_;
  CpuShares cpu_;
};

}  // namespace berth::top
