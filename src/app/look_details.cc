#include "app/look_details.h"

#include <algorithm>

namespace berth {

namespace {

template <class T>
void add_missing(const Reading<T>& earlier, Reading<T>& reading) {
  if (!reading.get() && reading.why() == Absent::not_sampled) reading = earlier;
}

}  // namespace

void add_details(const Snapshot& earlier, Snapshot& snapshot) {
  for (Device& device : snapshot.devices) {
    const auto old = std::ranges::find(earlier.devices, device.id, &Device::id);
    if (old == earlier.devices.end() || device.lost) continue;
    device.details.add_missing(old->details);
    add_missing(old->lists.retired_pages, device.lists.retired_pages);
    add_missing(old->lists.accounted_processes, device.lists.accounted_processes);
    add_missing(old->lists.supported_clocks, device.lists.supported_clocks);
    add_missing(old->lists.nvlinks, device.lists.nvlinks);
  }
}

}  // namespace berth
