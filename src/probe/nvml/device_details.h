#pragma once
// Device::details and Device::lists: what only dumps, CSV queries and health checks show. Read by
// tables: a row has the function, its argument and what the number means. A function that fails or
// is missing makes only its own details absent.

#include "probe/nvml/detail_values.h"
#include "probe/nvml/device_asker.h"
#include "probe/nvml/device_memory.h"
#include "snapshot/device.h"

namespace berth::nvml {

/// The wanted details of a GPU. Rates and statistics cover the time since the look before, which
/// `memory` remembers. At the first look rates are `not_sampled`. Never waits.
void read_details(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device);

/// The engines that a MIG instance shares, its memory window and its memory errors.
void read_instance_details(DeviceAsker& asker, Details& details);

/// Adds the details that others are made of.
void add_sources_of_details(Wanted& wanted);

/// For a device that did not answer: every detail is `failed`.
[[nodiscard]] Details failed_details();
[[nodiscard]] Lists failed_lists();

/// Retired pages, accounted processes, supported clocks: long lists, asked for apart.
void read_lists(DeviceAsker& asker, Lists& lists);

// --- the parts, in the order in which read_details calls them
// -------------------------------------

/// Getters of one number, of a pair, and of a number by an argument: one row each.
void read_number_details(DeviceAsker& asker, Details& details);
/// All of nvmlDeviceGetFieldValues, in one call. The counters that rates are made of go to `now`.
void read_field_details(DeviceAsker& asker, Details& details, Counters& now);
/// Functions that fill a structure, and texts.
void read_struct_details(DeviceAsker& asker, Details& details);
/// Whether an error of its memory cannot be repaired. Only the newest drivers have the function.
[[nodiscard]] Cell unrepairable_memory(DeviceAsker& asker);
/// Memory errors by kind, age and place.
void read_ecc_details(DeviceAsker& asker, Details& details);
/// Rates between two readings of a counter.
void read_rates(const Counters& before, const Counters& now, Details& details);
/// The driver's samples of power, load and clocks: summed up, and those since the look before.
void read_sample_details(DeviceAsker& asker, SampleMemory& memory, Details& details);
/// Hopper and newer: how busy the parts of the chip were between two looks (GPM).
void read_activity(DeviceAsker& asker, ActivitySamples& samples, Details& details);

/// An answer as a detail.
template <class Raw>
[[nodiscard]] Cell detail_of(As as, const std::expected<Raw, Return>& answer) {
  if (!answer) return why_absent(answer.error());
  return cell_as(as, static_cast<std::int64_t>(*answer));
}

}  // namespace berth::nvml
