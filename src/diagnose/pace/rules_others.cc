// It waits for somebody else, it pauses, or it is shared.

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/pace/rules.h"

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

std::optional<Cause> periodic_pauses(const Seen& seen) {
  const Features& features = seen.features;
  const auto& pauses = features.phases.repeating;
  if (!pauses || pauses->share < seen.thresholds.pauses_share) return {};
  // Workers that never rest say why: the queue runs empty again and again.
  if (loaders_never_rest(features)) return {};
  const auto seconds = [](Milliseconds time) {
    return fmt::format("{:.1f}", static_cast<double>(time.count()) / 1000);
  };
  Finding finding{
      .rule = "periodic_pauses",
      .severity = Severity::warning,
      .title = sentence("the GPU stands still again and again: every {} s for {} s",
                        seconds(pauses->period), seconds(pauses->length)),
      .evidence = {sentence("{} pauses, {} of the time; between them a kernel ran {} of the time",
                            pauses->count, percent(pauses->share),
                            percent(features.phases.busy_between))},
      .meaning = sentence("That is how saving a checkpoint, an evaluation or the start of an epoch "
                          "looks."),
      .steps = advice(Advice::shorter_pauses, seen.activity.framework)};
  if (pauses->count < 3)
    finding.doubt = sentence("two pauses were seen: look for longer (--seconds)");
  return Cause{std::move(finding), pauses->share};
}

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
