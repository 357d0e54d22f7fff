#pragma once
// What a compute capability says of every card that has it: the architecture's name, and how much
// of each kind of arithmetic a multiprocessor does per clock.

#include <cstdint>
#include <optional>
#include <string_view>

#include "snapshot/device.h"

namespace berth {

/// Operations per multiprocessor and clock; 0: none of that kind. Products of 8 and 16 bits on
/// tensor cores, added up in FP32 at the full rate.
///
/// Source  CUDA C++ Programming Guide, "Arithmetic Instructions" (fp64, fp16 without tensor cores,
///         dp4a); the architectures' whitepapers, which give products per tensor core and clock.
struct ClockRates {
  int fp64 = 0, fp64_tensor = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, int8 = 0, fp4 = 0;
};

struct CapabilityFacts {
  ComputeCapability from;  // up to the next row
  std::string_view architecture;
  std::uint64_t cores = 0;    // FP32 lanes per multiprocessor
  int tensor_generation = 0;  // 0: no tensor cores
  ClockRates per_clock;
};

/// Absent: before Kepler, or newer than what is known.
[[nodiscard]] std::optional<CapabilityFacts> facts_of(ComputeCapability capability);

}  // namespace berth
