// What a dump's reader is told beside its readings.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/sentence.h"
#include "smi/dump_rows.h"

namespace berth::smi {

void report_lost(const Device& device, Snapshot& snapshot) {
  if (!device.lost) return;
  snapshot.problems.push_back(
      {.source = "replay",
       .device = device.id,
       .code = "device_lost",
       .message = sentence("GPU {} was lost when this was written down", *device.index)});
}

void report_untold(Snapshot& snapshot) {
  std::vector<int> untold;
  for (const Device& device : snapshot.devices) {
    const bool told = device.process_count.get() || device.lost || device.parent;
    if (!told) untold.push_back(*device.index);
  }
  if (untold.empty()) return;
  snapshot.problems.push_back(
      {.source = "replay",
       .code = "processes_untold",
       .message = sentence("who is on GPU {} is not known: it was written down without its "
                           "list of processes",
                           fmt::format("{}", fmt::join(untold, ", "))),
       .remedy = sentence("nvidia-smi -q, without -d, writes all down")});
}

}  // namespace berth::smi
