#pragma once
// Devices that were not heard in time: nothing is known of them, for better or worse.

#include <string_view>

#include "base/tr.h"
#include "snapshot/device.h"

namespace berth {

/// Stand in Device::unusable_because, shown through tr(): of a device that had said who it is, and
/// of one that had not.
inline constexpr std::string_view does_not_answer = as_key("it does not answer");
inline constexpr std::string_view no_answer_for_it = as_key("the driver does not answer for it");

/// Likewise, of a card that sleeps and was not woken up to be asked.
inline constexpr std::string_view asleep = as_key("it sleeps, and was not woken up to be asked");

/// Whether it may well be usable, and the driver did not answer for it this time.
[[nodiscard]] inline bool is_silent(const Device& device) {
  return !device.lost && (device.unusable_because == does_not_answer ||
                          device.unusable_because == no_answer_for_it);
}

}  // namespace berth
