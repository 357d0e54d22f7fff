#pragma once
// UsageMeter: who had a device, for how long, how busy it was and what energy it took. Summed up as
// snapshots come, in buckets of a quarter of an hour: every time zone's days begin at one. Pure.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "snapshot/recorded.h"
#include "snapshot/snapshot_index.h"

namespace berth::history {

inline constexpr std::int64_t usage_bucket_ms = 15 * 60 * 1000;
/// Load up to this flickers on a card on which nothing runs; above it somebody computes.
inline constexpr Percent idle_up_to{3.0};

/// Times in milliseconds. What was neither busy nor idle had a load that could not be read.
struct Use {
  std::int64_t watched_ms = 0;  // of devices: how long somebody looked; else 0
  std::int64_t held_ms = 0;
  std::int64_t busy_ms = 0;
  std::int64_t idle_ms = 0;
  std::int64_t counted_mj = 0;     // energy by the device's counter
  std::int64_t integrated_mj = 0;  // where it has none: by its power
  std::int64_t energy_ms = 0;      // how long of held_ms (of a device: watched_ms) it is known for
  Use& operator+=(const Use& other);
  friend bool operator==(const Use&, const Use&) = default;
};

struct DeviceBucket {
  std::int64_t bucket_ms = 0;
  DeviceId device;
  friend auto operator<=>(const DeviceBucket&, const DeviceBucket&) = default;
};
struct HolderBucket {
  std::int64_t bucket_ms = 0;
  DeviceId device;
  std::string user;  // empty: a process whose owner cannot be seen
  std::string job;   // the run, else the lease; empty: processes without a lease
  friend auto operator<=>(const HolderBucket&, const HolderBucket&) = default;
};

class UsageMeter {
 public:
  /// The time since the snapshot before belongs to those who have the devices now. After a pause
  /// longer than longest_step_ms, or where the clock was set back, it belongs to nobody.
  void add(const SnapshotIndex& index);

  /// Somebody looks less often.
  void look_every(std::int64_t longest_ms) { longest_ms_ = longest_ms; }

  [[nodiscard]] const std::map<DeviceBucket, Use>& devices() const { return devices_; }
  [[nodiscard]] const std::map<HolderBucket, Use>& holders() const { return holders_; }
  /// They have been written down: counts from 0 on.
  void clear();

 private:
  struct Before {
    Reading<Millijoules> energy;
    Reading<Milliwatts> power;
  };
  void add_device(const Device& device, const SnapshotIndex& index, std::int64_t from_ms,
                  std::int64_t step_ms);

  std::optional<WallTime> last_;
  std::int64_t longest_ms_ = longest_step_ms;
  std::map<DeviceId, Before> before_;
  std::map<DeviceBucket, Use> devices_;
  std::map<HolderBucket, Use> holders_;
};

}  // namespace berth::history
