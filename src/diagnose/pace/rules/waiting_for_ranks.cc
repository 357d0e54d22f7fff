// The GPU spins in a collective until the last rank arrives.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> waiting_for_ranks(const Seen& seen) {
  const Features& features = seen.features;
  if (features.ranks < 2 && features.devices.size() < 2) return {};
  double share = 0;
  const DeviceLoad* waiting = nullptr;
  for (const DeviceLoad& device : features.devices) {
    if (device.spinning.value_or(0) <= share) continue;
    share = *device.spinning;
    waiting = &device;
  }
  if (waiting == nullptr || share < seen.thresholds.slow_share) return {};
  Finding finding{
      .rule = "waiting_for_ranks",
      .severity = Severity::warning,
      .title = sentence("the GPU waits in a collective for another rank"),
      .evidence = {sentence("{} of the time it was utilised throughout and did next to nothing",
                            percent(share)),
                   sentence("{} ranks compute together", features.ranks)},
      .meaning = sentence("A collective (NCCL) spins on the GPU until the last rank arrives: the "
                          "utilisation is full, and no work is done."),
      .steps = advice(Advice::balance_ranks, seen.activity.framework)};
  if (waiting->sm) {
    finding.evidence.push_back(
        sentence("while kernels ran {} of the SMs were busy", percent(*waiting->sm)));
  } else {
    finding.doubt =
        sentence("how busy the SMs were is not told by this device: by its power alone");
  }
  if (waiting->power) {
    finding.evidence.push_back(sentence("it drew {} of its power limit", percent(*waiting->power)));
  }
  return Cause{std::move(finding), share};
}

}  // namespace berth::pace
