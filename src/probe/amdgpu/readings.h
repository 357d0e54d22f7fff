#pragma once
// What a card's files in /sys tell of its state. Each reading is absent with the reason: most are
// missing somewhere, or refused while the card sleeps or is being reset.

#include <optional>

#include "base/reading.h"
#include "probe/amdgpu/cards.h"
#include "probe/amdgpu/gpu_metrics.h"
#include "snapshot/device.h"
#include "snapshot/wanted.h"

namespace berth::amdgpu {

/// What the kernel remembers: it wakes nothing.
void read_memory(const Card& card, Device& device);
/// All that may wake the card.
void read_awake(Card& card, const std::optional<GpuMetrics>& metrics, const Wanted& wanted,
                Device& device);
/// gpu_metrics; nothing: none, or of a revision that is not known. May wake the card.
[[nodiscard]] std::optional<GpuMetrics> metrics_of(const Card& card);

}  // namespace berth::amdgpu
