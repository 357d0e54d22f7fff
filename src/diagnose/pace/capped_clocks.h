#pragma once
// How long the clocks were held down, and how far, by one of the reasons that the driver names
// (DeviceLoad::power_cap, heat_cap).

#include "diagnose/pace/features.h"

namespace berth::pace {

/// Of the device that was held down longest; a share of 0: none was.
[[nodiscard]] Cap longest_cap(const Features& features, Cap DeviceLoad::* reason);

}  // namespace berth::pace
