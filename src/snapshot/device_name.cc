#include "snapshot/device_name.h"

#include <fmt/format.h>

namespace berth {

std::string name_for_people(const Device& device) {
  return device.index && !device.parent ? fmt::format("GPU {}", *device.index) : device.id.text();
}

}  // namespace berth
