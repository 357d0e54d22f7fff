#pragma once
// What computing does to a device's other readings, well enough that a table of them looks alive:
// power, temperature, clocks, memory traffic and the history follow from the utilisation.

#include <functional>

#include "snapshot/details.h"
#include "snapshot/device.h"

namespace berth::sim {

/// Sets what a device shows while it computes. `percent_ago` is its utilisation so many seconds
/// before now. Readings that the device does not have stay absent.
void put_under_load(Device& device, const std::function<double(double seconds)>& percent_ago);

/// What a device draws that computes all the time, if it draws `idle` milliwatts when it does not.
[[nodiscard]] double most_power_milliwatts(const Device& device, double idle);

/// The mean of a second and the moment's power, which drivers tell beside each other: here they are
/// the same, where a scenario does not say otherwise.
void tell_power_in_each_way(Device& device);

}  // namespace berth::sim
