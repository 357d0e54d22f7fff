// The device itself: others on it, clocks held down, waiting for other ranks, pauses.

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/bottleneck/advice.h"
#include "diagnose/bottleneck/bottleneck.h"

namespace berth::bottleneck {

namespace {

/// How long the clocks were held down, and how far, by one of the reasons that the driver names. It
/// is of the device that was held down longest. A share of 0: none was.
Cap longest_cap(const Features& features, Cap DeviceLoad::* reason) {
  Cap longest;
  for (const DeviceLoad& device : features.devices) {
    if ((device.*reason).share > longest.share) longest = device.*reason;
  }
  return longest;
}

/// Somebody else's kernels run on the same GPU.
std::optional<Cause> shared_with_others(const Evidence& seen) {
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
                  "berth run -- COMMAND"}}},
      share};
}

/// Clocks are held down by heat.
std::optional<Cause> throttled_heat(const Evidence& seen) {
  const Cap cap = longest_cap(seen.features, &DeviceLoad::heat_cap);
  if (cap.share < seen.thresholds.slow_share || !cap.clock) return {};
  const double share = cap.share;
  const double clock = *cap.clock;
  Finding finding{
      .rule = "throttled_heat",
      .severity = Severity::warning,
      .title = sentence("the GPU is too hot and slows itself down"),
      .evidence = {sentence("the driver names heat as what holds the clocks, {} of the time",
                            percent(share)),
                   sentence("its SMs ran at {} of their highest clock meanwhile", percent(clock))},
      .meaning = sentence("Air does not reach it, a fan stands still, or its neighbours heat it."),
      .steps = {
          {sentence("see temperatures and fans"), "nvidia-smi -q -d TEMPERATURE"},
          {sentence("tell the administrator; a card further from the others may be cooler"), ""}}};
  for (const ActivitySample& step : seen.activity.steps) {
    for (const DeviceStep& device : step.devices) {
      if (!device.temperature.get() || !device.throttle.get() || !device.throttle.get()->heat)
        continue;
      finding.evidence.push_back(sentence("it was at {} °C", device.temperature.get()->count()));
      return Cause{std::move(finding), share * (1 - clock)};
    }
  }
  return Cause{std::move(finding), share * (1 - clock)};
}

/// The first whose limit is below what it is by default; null: none is known to be.
const DeviceFacts* lowered_limit(const Activity& activity) {
  for (const DeviceFacts& facts : activity.devices) {
    const auto& limit = facts.power_limit.get();
    const auto& by_default = facts.power_limit_default.get();
    if (limit && by_default && *limit < *by_default) return &facts;
  }
  return nullptr;
}

/// Clocks are held down by the power limit.
std::optional<Cause> throttled_power(const Evidence& seen) {
  const Cap cap = longest_cap(seen.features, &DeviceLoad::power_cap);
  if (cap.share < seen.thresholds.slow_share || !cap.clock) return {};
  const double share = cap.share;
  const double clock = *cap.clock;
  const DeviceFacts* lowered = lowered_limit(seen.activity);
  // With all the power that it was made for, a full card runs well below its highest clock.
  if (lowered == nullptr && clock >= seen.thresholds.full_power_clock) return {};
  Finding finding{
      .rule = "throttled_power",
      .severity = Severity::warning,
      .title = sentence("the power limit holds the GPU back"),
      .evidence = {sentence("the driver names power as what holds the clocks, {} of the time",
                            percent(share)),
                   sentence("its SMs ran at {} of their highest clock meanwhile", percent(clock))},
      .meaning = sentence("The card could be faster with the power that it was made for."),
      .steps = {{sentence("see the limit, and what it is by default"), "nvidia-smi -q -d POWER"},
                {lowered != nullptr
                     ? sentence("ask the administrator why it is lowered")
                     : sentence("a supply that is too weak shows as a power brake: tell the "
                                "administrator"),
                 ""}}};
  if (lowered != nullptr) {
    finding.evidence.push_back(sentence("the limit is set to {} W, by default it is {} W",
                                        lowered->power_limit.get()->count() / 1000,
                                        lowered->power_limit_default.get()->count() / 1000));
  }
  return Cause{std::move(finding), share * (1 - clock)};
}

/// The device that waits most for other ranks.
struct Wait {
  const DeviceLoad* device = nullptr;
  double share = 0;      // of the time it spun, or of its SMs that had nothing to do
  bool is_told = false;  // it spun for whole looks, one after another
};

Wait longest_wait(const Evidence& seen) {
  Wait longest;
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.spinning.value_or(0) <= longest.share) continue;
    longest = {.device = &device, .share = *device.spinning, .is_told = true};
  }
  return longest.share < seen.thresholds.slow_share ? Wait{} : longest;
}

/// Kernels run all the time, and part of the GPU works: waits that are shorter than a step.
Wait short_waits(const Evidence& seen) {
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

Finding finding_of(const Evidence& seen, const Wait& wait) {
  Finding finding{.rule = "waiting_for_ranks",
                  .severity = Severity::warning,
                  .title = sentence("the GPU waits in a collective for another rank"),
                  .meaning = sentence("A collective (NCCL) spins on the GPU until the last rank "
                                      "arrives. The utilisation is full, and no work is done."),
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
        "waits shorter than a step of this look cannot be told from small kernels. A profile of "
        "one step of the training shows them");
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

/// The GPU spins in a collective until the last rank arrives.
std::optional<Cause> waiting_for_ranks(const Evidence& seen) {
  if (seen.features.ranks < 2 && seen.features.devices.size() < 2) return {};
  Wait wait = longest_wait(seen);
  if (wait.device == nullptr && seen.features.ranks > 1) wait = short_waits(seen);
  if (wait.device == nullptr) return {};
  return Cause{finding_of(seen, wait), wait.share};
}

/// It stands still repeatedly, at even distances.
std::optional<Cause> periodic_pauses(const Evidence& seen) {
  const Features& features = seen.features;
  const auto& pauses = features.phases.repeating;
  if (!pauses || pauses->share < seen.thresholds.pauses_share) return {};
  // Workers that never rest explain it: the queue keeps running empty.
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

}  // namespace

std::span<const BottleneckRule> device_rules() {
  static constexpr BottleneckRule rules[] = {
      {.find = shared_with_others,
       .reports = {{"shared_with_others",
                    "processes of others (or of another job) compute on the same GPU and take a "
                    "good part of its time",
                    "processes on the device that are not of the job, their utilisation",
                    "a GPU of one's own"}}},
      {.find = throttled_heat,
       .reports = {{"throttled_heat",
                    "kernels run, and heat holds the clocks well below the card's highest",
                    "throttle reasons, SM clock, temperature", "fans and air; the administrator"}}},
      {.find = throttled_power,
       .reports = {{"throttled_power",
                    "kernels run, and the power limit (or the power supply) holds the clocks well "
                    "below the card's highest; at the limit that the card has by default only "
                    "where they are very far below: full work takes a third",
                    "throttle reasons, SM clock against the highest, limit against the default",
                    "the limit; the administrator"}}},
      {.find = waiting_for_ranks,
       .reports =
           {{"waiting_for_ranks",
             "one of several ranks: kernels run all the time and little of the chip works, because "
             "a collective (NCCL) spins until another rank arrives, for a good part of the time",
             "share of steps that are utilised throughout with few SMs busy (without their "
             "counters: with memory untouched, or hardly any power); else, with a doubt, SMs half "
             "busy on average under full utilisation; how many ranks",
             "find the late rank; equal batches; no_sync()"}}},
      {.find = periodic_pauses,
       .reports = {{"periodic_pauses",
                    "the GPU is well used between pauses of a second and more that repeat "
                    "(checkpoints, evaluation, logging), and they take a good part of the time",
                    "period, length and share of the pauses, how busy the GPU is between them",
                    "asynchronous checkpoints, evaluate less often"}}},
  };
  return rules;
}

}  // namespace berth::bottleneck
