#pragma once
// gpu_metrics: the block of numbers that the amdgpu driver gives in one read. Each revision has
// its own layout, and some revisions had two: only those are read whose size is known, too. All
// ones is "not there". Pure.
//
// Sources: drivers/gpu/drm/amd/include/kgd_pp_interface.h and amdgpu_smu.h of Linux 6.9 to 6.17;
// rocm_smi_gpu_metrics.h of ROCm 7. Not read: 1.0 and 2.0, as no released driver of a card in use
// gave them. 1.9 (a list of attributes) and 3.x (APUs of 2024) are another matter.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "snapshot/device.h"

namespace berth::amdgpu {

/// How often, in units of the firmware's own, each cause has held the clocks back so far.
struct Residencies {
  std::uint32_t processor_hot = 0, power = 0, heat = 0, heat_of_regulators = 0, heat_of_memory = 0;
  friend bool operator==(const Residencies&, const Residencies&) = default;
};

struct GpuMetrics {
  bool is_apu = false;  // revisions 2 and 3
  std::optional<Percent> busy;
  std::optional<Percent> memory_busy;
  std::optional<Milliwatts> power;
  std::optional<Celsius> hotspot;
  std::optional<Celsius> memory_temperature;
  /// Since the driver was loaded. Only of revisions that document the unit (from 1.4 on).
  std::optional<Millijoules> energy;
  std::optional<Megahertz> clock;  // of the fastest chiplet
  std::optional<Megahertz> memory_clock;
  std::optional<std::uint64_t> pcie_width;
  std::optional<std::uint64_t> pcie_replays;
  /// What holds the clocks back now.
  std::optional<ClockReasons> throttle;
  /// From 1.6 on in place of `throttle`: what has, so far.
  std::optional<Residencies> residencies;
  /// One per partition, in their order. Empty: the revision has none.
  std::vector<std::optional<Percent>> partitions_busy;
};

/// Nothing: a revision or a size that is not known, or too few bytes.
[[nodiscard]] std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes);

/// What has held the clocks back between two looks.
[[nodiscard]] ClockReasons reasons_between(const Residencies& before, const Residencies& now);

}  // namespace berth::amdgpu
