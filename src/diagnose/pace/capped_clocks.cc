#include "diagnose/pace/capped_clocks.h"

namespace berth::pace {

Cap longest_cap(const Features& features, Cap DeviceLoad::* reason) {
  Cap longest;
  for (const DeviceLoad& device : features.devices) {
    if ((device.*reason).share > longest.share) longest = device.*reason;
  }
  return longest;
}

}  // namespace berth::pace
