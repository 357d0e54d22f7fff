#pragma once
// How much a card can compute at most, from its row of the table. A figure that the vendor
// published for it comes first. Else it is multiprocessors × operations per clock × boost clock, as
// vendors compute theirs.

#include <string_view>
#include <vector>

#include "cards/card.h"

namespace berth {

/// Absent wherever neither a clock nor a figure is known for certain.
[[nodiscard]] PeakRates peak_rates(const Card& card);

/// What other cards have and this one has not. From its compute capability and traits.
enum class Lack {
  tensor_cores,
  fast_fp16,  // FP16 goes no faster than FP32, or far slower
  bf16,
  tf32,
  fp8,
  fp4,
  fast_fp64,  // at most an eighth of FP32
  ecc,
  instances,  // MIG
  nvlink,
  cuda_13,  // CUDA 13 compiles for 7.5 and newer (its release notes, "Deprecated Architectures")
};
[[nodiscard]] std::vector<Lack> lacks_of(const Card& card);
/// For JSON; never translated.
[[nodiscard]] std::string_view name_of(Lack lack);

}  // namespace berth
