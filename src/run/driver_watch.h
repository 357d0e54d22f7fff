#pragma once
// Whether the driver is still the one that the run began with: another version answers, or a device
// that was lost answers again (it was reset). Either is told once.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

struct DriverNews {
  std::string_view kind;  // of an event: "driver_changed", "gpu_back"
  std::string text;       // for people, in English
  friend bool operator==(const DriverNews&, const DriverNews&) = default;
};

class DriverWatch {
 public:
  /// The host and the devices as of the choice.
  explicit DriverWatch(Snapshot given) : given_(std::move(given)) {}

  [[nodiscard]] std::vector<DriverNews> news(const Snapshot& look);

 private:
  void add_returns(const Snapshot& look, std::vector<DriverNews>& news);

  Snapshot given_;
  bool told_change_ = false;
  std::set<DeviceId> lost_;
  std::set<DeviceId> returned_;
};

}  // namespace berth
