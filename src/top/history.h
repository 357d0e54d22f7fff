#pragma once
// History: what devices and processes did while somebody watched, in rings. A column of a chart is
// all the samples it stands for, so that neither a spike nor a gap is lost where a screen is
// narrower than the time shown.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aggregate.h"
#include "base/clock.h"
#include "snapshot/recorded.h"
#include "snapshot/snapshot.h"

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

/// Each recorded reading that is drawn live, in the unit of its field.
class DeviceHistory {
 public:
  /// Null: the device was not there.
  void add(const Device* device);
  [[nodiscard]] const Series& of(std::string_view key) const {
    return series_.at(place_of_recorded(key));
  }

 private:
  std::array<Series, recorded_readings.size()> series_;  // of those that are not: empty
};

struct ProcessHistory {
  static constexpr std::size_t capacity = 1024;
  Series memory{capacity};  // GiB
  Series sm{capacity};      // percent
  Series cpu{capacity};     // percent of a core
  WallTime seen;
  void add_blank();
};

/// What processes used of a core between the last two looks.
class CpuShares {
 public:
  /// Forgets whoever is not in it.
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

class History {
 public:
  /// `cadence`: how often snapshots come; where one is missing, so is a sample.
  explicit History(Duration cadence) : cadence_(cadence) {}
  void set_cadence(Duration cadence) { cadence_ = cadence; }
  void add(const Snapshot& snapshot);

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
  std::map<DeviceId, DeviceHistory> devices_;
  std::map<ProcessId, std::map<DeviceId, ProcessHistory>> processes_;
  CpuShares cpu_;
};

}  // namespace berth::top
