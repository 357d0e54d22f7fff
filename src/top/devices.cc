#include "top/devices.h"

namespace berth::top {

bool is_out_of_use(const Device& device) { return device.lost || !device.unusable_because.empty(); }

std::vector<const Device*> charted_devices(const State& state) {
  std::vector<const Device*> charted = shown_devices(state);
  std::erase_if(charted, [](const Device* device) { return is_out_of_use(*device); });
  return charted;
}

}  // namespace berth::top
