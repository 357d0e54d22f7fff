#pragma once
// How hot a device is: the limits by which every surface colours and calls it so.

#include <optional>
#include <string_view>

#include "snapshot/device.h"
#include "snapshot/wanted.h"

namespace berth {

/// How near a device is to slowing itself down for its heat. By its own limits and its driver's
/// word; nothing: neither is known.
enum class Heat { normal, warm, hot };
[[nodiscard]] std::optional<Heat> heat_of(const Device& device);
/// What it follows from.
[[nodiscard]] Wanted wanted_by_heat();
[[nodiscard]] std::string_view name_of(Heat heat);
/// How many degrees it may still get warmer before it does; 0 or less: it does. Nothing: it tells
/// no temperature or no limit of its own.
[[nodiscard]] std::optional<Celsius> degrees_to_slowdown(const Device& device);
/// What a table colours as hot and health calls too hot, by so many degrees left.
[[nodiscard]] constexpr bool is_hot(Celsius left) { return left <= Celsius{0}; }

}  // namespace berth
