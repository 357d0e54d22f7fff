#include "diagnose/pcie.h"

#include <array>

namespace berth {

std::optional<double> pcie_bytes_per_second(std::uint64_t generation, std::uint64_t width) {
  // Per lane: 8b/10b, then 128b/130b, flits from generation 6.
  constexpr auto per_lane =
      std::to_array<double>({0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9});
  if (generation < 1 || generation > per_lane.size() || width < 1 || width > 32) {
    return std::nullopt;
  }
  return per_lane[generation - 1] * static_cast<double>(width);
}

}  // namespace berth
