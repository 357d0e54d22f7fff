// Somebody else's kernels run on the same GPU.

#include <algorithm>

#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> shared_with_others(const Seen& seen) {
  double share = 0;
  std::uint64_t others = 0;
  for (const DeviceLoad& device : seen.features.devices) {
    share = std::max(share, device.others.value_or(0));
    others = std::max(others, device.most_others);
  }
  if (others == 0 || share * 100 < seen.thresholds.others_percent) return {};
  return Cause{
      {.rule = "shared_with_others",
       .severity = Severity::warning,
       .title = sentence("others compute on the same GPU"),
       .evidence = {sentence(
           "{} processes that are not of this job are on it and had kernels there "
           "{} of the time",
           others, percent(share))},
       .meaning =
           sentence("Processes on one GPU take turns: each has a part of it, and waits for the "
                    "others' kernels."),
       .steps = {{sentence("see who it is"), "berth ps"},
                 {sentence("take a GPU of one's own: others that use berth leave it alone"),
                  "berth run -- COMMAND"}},
       .doubt = {}},
      share};
}

}  // namespace berth::pace
