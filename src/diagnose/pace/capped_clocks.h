#pragma once
// How long the clocks were held down, and how far, by one of the reasons that the driver names
// (DeviceLoad::capped_by_power, capped_by_heat).

#include <optional>

#include "diagnose/pace/features.h"

namespace berth::pace {

/// Share of the time, of the device that was held down longest; 0: none was.
[[nodiscard]] double capped_share(const Features& features, double DeviceLoad::* reason);
/// That device's clock meanwhile, as a share of its highest.
[[nodiscard]] std::optional<double> capped_clock(const Features& features,
                                                 double DeviceLoad::* reason);

}  // namespace berth::pace
