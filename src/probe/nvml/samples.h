#pragma once
// The driver's own history: the samples that nvmlDeviceGetSamples keeps of load, power and clocks.

#include <cstdint>
#include <expected>
#include <vector>

#include "probe/nvml/device_asker.h"

namespace berth::nvml {

/// All samples of a kind that the driver keeps, oldest first. Impossible ones are left out: without
/// a timestamp, or no whole numbers. `capacity` is remembered between looks: how many there may be.
std::expected<std::vector<Sample>, Return> fetch_samples(DeviceAsker& asker, unsigned kind,
                                                         unsigned& capacity);

}  // namespace berth::nvml
