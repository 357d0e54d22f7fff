#pragma once
// One device's readings, in the order in which they stand in snapshot/device.h.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "probe/nvml/device_asker.h"
#include "probe/nvml/device_memory.h"
#include "snapshot/device.h"
#include "snapshot/wanted.h"

namespace berth::nvml {

/// Adds the sources of its readings. A device's identity comes with each.
[[nodiscard]] Wanted with_sources(const Wanted& wanted);

/// Reads what is `missing` of: name, UUID, PCI address and id, minor number, compute capability.
/// Leaves `id` alone.
void read_identity(DeviceAsker& asker, const Wanted& missing, Device& device);

/// What does not change while the driver is loaded, of that what is `missing`.
void read_facts(DeviceAsker& asker, const Wanted& missing, Device& device);

/// Whether MIG divides the card now.
[[nodiscard]] Reading<bool> read_mig_mode(DeviceAsker& asker);

/// What moves, but the MIG mode, which `memory` has already, with how large the driver's history
/// is.
void read_state(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device);

/// The four memory readings, of a GPU or a MIG instance, and whether one of them is wanted.
[[nodiscard]] bool wants_memory(const DeviceAsker& asker);
void read_memory(DeviceAsker& asker, Device& device);

/// A vendor's bus id in our spelling: 8-digit domain, lower case.
[[nodiscard]] std::string pci_address(std::uint32_t domain, std::uint32_t bus,
                                      std::uint32_t device);

/// All samples of a kind that the driver keeps, oldest first. Left out are those that cannot be (no
/// timestamp, not whole numbers). `capacity` is remembered between looks: how many there may be.
std::expected<std::vector<Sample>, Return> fetch_samples(DeviceAsker& asker, unsigned kind,
                                                         unsigned& capacity);

}  // namespace berth::nvml
