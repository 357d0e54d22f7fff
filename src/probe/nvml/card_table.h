#pragma once
// What a card is made of, from the table of cards where the driver does not say. And the driver's
// numbers for architectures and brands.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "snapshot/device.h"

namespace berth::nvml {

/// FP32 lanes per streaming multiprocessor (cards/card.h).
[[nodiscard]] std::optional<std::uint64_t> cores_per_multiprocessor(ComputeCapability capability);

/// The architecture's name by compute capability, as nvidia-smi -q prints it.
[[nodiscard]] std::optional<std::string_view> architecture_name(ComputeCapability capability);
/// By nvmlDeviceArchitecture_t.
[[nodiscard]] std::optional<std::string_view> architecture_name(unsigned nvml_architecture);

/// By nvmlBrandType_t.
[[nodiscard]] std::optional<std::string_view> brand_name(unsigned nvml_brand);

/// Theoretical peak memory bandwidth.
///
/// Both edges of the clock carry a bit on each line (double data rate):
/// bytes per second = width / 8 × 2 × clock. NVML's clock is such that this holds for HBM, GDDR5,
/// GDDR5X, GDDR6 and GDDR6X alike. The last three move more per edge. As in data sheets: A100 40 GB
/// 5120 bit × 1215 MHz = 1555 GB/s
///   RTX 3090       384 bit × 9751 MHz =  936 GB/s
///   GTX 1080 Ti    352 bit × 5505 MHz =  484 GB/s
[[nodiscard]] BytesPerSecond peak_memory_bandwidth(std::uint64_t bus_width_bits, Megahertz clock);

}  // namespace berth::nvml
