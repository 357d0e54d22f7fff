// The GPU spins in a collective until the last rank arrives.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

/// The device that waits most for other ranks.
struct Wait {
  const DeviceLoad* device = nullptr;
  double share = 0;      // of the time it spun, or of its SMs that had nothing to do
  bool is_told = false;  // it spun for whole looks, one after another
};

Wait longest_wait(const Seen& seen) {
  Wait longest;
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.spinning.value_or(0) <= longest.share) continue;
    longest = {.device = &device, .share = *device.spinning, .is_told = true};
  }
  return longest.share < seen.thresholds.slow_share ? Wait{} : longest;
}

/// Kernels run all the time, and part of the GPU works: waits that are shorter than a step.
Wait short_waits(const Seen& seen) {
  const Thresholds& t = seen.thresholds;
  Wait worst;
  for (const DeviceLoad& device : seen.features.devices) {
    if (!device.sm || device.busy.value_or(0) < 1 - t.busy_idle_share) continue;
    if (device.dram.value_or(0) * 100 >= t.dram_percent) continue;
    const double unused = 1 - *device.sm;
    if (*device.sm * 100 >= t.ranks_sm_percent || unused <= worst.share) continue;
    worst = {.device = &device, .share = unused};
  }
  return worst;
}

Finding finding_of(const Seen& seen, const Wait& wait) {
  Finding finding{
      .rule = "waiting_for_ranks",
      .severity = Severity::warning,
      .title = sentence("the GPU waits in a collective for another rank"),
      .evidence = {},
      .meaning = sentence("A collective (NCCL) spins on the GPU until the last rank arrives: the "
                          "utilisation is full, and no work is done."),
      .steps = advice(Advice::balance_ranks, seen.activity.framework)};
  finding.evidence.push_back(
      wait.is_told ? sentence("{} of the time it was utilised throughout and did next to nothing",
                              percent(wait.share))
                   : busy_sentence(seen));
  finding.evidence.push_back(sentence("{} ranks compute together", seen.features.ranks));
  if (wait.device->sm) {
    finding.evidence.push_back(
        sentence("while kernels ran {} of the SMs were busy", percent(*wait.device->sm)));
  } else {
    finding.doubt = sentence(
        "how busy the SMs were is not told by this device: by its power and its memory alone");
  }
  if (!wait.is_told) {
    finding.doubt = sentence(
        "waits shorter than a step of this look cannot be told from small kernels: a profile of "
        "one "
        "step of the training does");
  }
  if (wait.device->nvlink_rate) {
    finding.evidence.push_back(
        sentence("{} went over its NVLinks", size_rate(*wait.device->nvlink_rate)));
  }
  if (wait.device->power) {
    finding.evidence.push_back(
        sentence("it drew {} of its power limit", percent(*wait.device->power)));
  }
  return finding;
}

}  // namespace

std::optional<Cause> waiting_for_ranks(const Seen& seen) {
  if (seen.features.ranks < 2 && seen.features.devices.size() < 2) return {};
  Wait wait = longest_wait(seen);
  if (wait.device == nullptr && seen.features.ranks > 1) wait = short_waits(seen);
  if (wait.device == nullptr) return {};
  return Cause{finding_of(seen, wait), wait.share};
}

}  // namespace berth::pace
