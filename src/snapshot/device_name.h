#pragma once
// What a device is called in a sentence: by the number that people know it by, where it has one of
// its own.

#include <string>

#include "snapshot/device.h"

namespace berth {

/// "GPU 3"; of what bears no number, or its card's (an instance of MIG), the id. The id is what the
/// driver said: whoever prints it escapes it.
[[nodiscard]] std::string name_for_people(const Device& device);

}  // namespace berth
