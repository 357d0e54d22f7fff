#pragma once
// What a device is called in a sentence: by its number, where it has one of its own.

#include <string>
#include <string_view>

#include "snapshot/device.h"

namespace berth {

/// "GPU 3"; of what bears no number, or its card's (an instance of MIG), the id. The id is what the
/// driver said: its printer escapes it.
[[nodiscard]] std::string name_for_people(const Device& device);
/// "3", of an instance of MIG its card's; of what bears no number the id.
[[nodiscard]] std::string index_or_id(const Device& device);

/// "NVIDIA GeForce RTX 3090" → "GeForce RTX 3090".
[[nodiscard]] std::string_view without_maker(std::string_view name);
/// Likewise "RTX 3090": also without the word that all such cards of a maker have.
[[nodiscard]] std::string_view model_of(std::string_view name);

}  // namespace berth
