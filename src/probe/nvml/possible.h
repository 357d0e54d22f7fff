#pragma once
// What a reading can be at all.

#include <cstdint>

#include "base/units.h"

namespace berth::nvml {

// What no device has: an answer beyond is the driver's mistake.
inline constexpr std::int64_t most_degrees = 1000;
inline constexpr std::int64_t most_milliwatts = 100'000'000;
inline constexpr std::int64_t most_megahertz = 100'000;
inline constexpr std::int64_t most_percent = 1000;  // fans may exceed 100

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
