#pragma once
// What a reading can be at all.

#include <cstdint>

#include "base/units.h"

namespace berth::nvml {

/// All bits of 32 or of 64 set: how NVML says of a number that there is none. A counter that stands
/// at just that for one look (4 GiB less a byte) is unknown for that look.
constexpr bool is_unavailable(std::uint64_t number) {
  return number == 0xFFFFFFFF || number == ~std::uint64_t{0};
}

/// What a number can be, both ends included. Below it the driver says nothing, beyond it garbage.
struct Range {
  std::uint64_t least;
  std::uint64_t most;
};
inline constexpr Range pcie_generations{1, 15};           // four bits of the link's registers
inline constexpr Range pcie_lanes{1, 32};                 // PCIe has none wider
inline constexpr Range device_minors{0, (1 << 20) - 1};   // Linux has 20 bits for them
inline constexpr Range memory_bus_bits{1, 1 << 16};       // a B200 has 8192
inline constexpr Range core_counts{1, 1'000'000};         // the largest card has 24064
inline constexpr Range multiprocessor_counts{1, 10'000};  // … and 188
inline constexpr Range error_counts{0, 0xFFFFFFFE};       // a memory with more has no sound word
inline constexpr Range throttle_masks{0, 0xFFFFFFFE};     // nine bits have a meaning

// What no device has: an answer beyond is the driver's mistake.
inline constexpr std::int64_t most_degrees = 250;  // silicon is long dead
inline constexpr std::int64_t most_milliwatts = 100'000'000;
inline constexpr std::int64_t most_megahertz = 100'000;
inline constexpr std::int64_t most_percent = 200;  // fans may exceed 100

template <class T>
constexpr bool is_possible(T) {
  return true;
}
constexpr bool is_possible(Celsius degrees) {
  return degrees.count() <= most_degrees && degrees.count() >= -most_degrees;
}
constexpr bool is_possible(Milliwatts power) {
  return power.count() <= static_cast<std::uint64_t>(most_milliwatts);
}
constexpr bool is_possible(Megahertz clock) {
  return clock.count() <= static_cast<std::uint64_t>(most_megahertz);
}
constexpr bool is_possible(Percent share) {
  return share.count() <= static_cast<double>(most_percent);
}

}  // namespace berth::nvml
