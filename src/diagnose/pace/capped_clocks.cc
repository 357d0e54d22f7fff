#include "diagnose/pace/capped_clocks.h"

#include <algorithm>

namespace berth::pace {

double capped_share(const Features& features, double DeviceLoad::* reason) {
  double most = 0;
  for (const DeviceLoad& device : features.devices) most = std::max(most, device.*reason);
  return most;
}

std::optional<double> capped_clock(const Features& features, double DeviceLoad::* reason) {
  for (const DeviceLoad& device : features.devices) {
    if (device.*reason > 0 && device.*reason >= capped_share(features, reason))
      return device.capped_clock;
  }
  return std::nullopt;
}

}  // namespace berth::pace
