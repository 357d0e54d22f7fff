// The GPU works, and less well than it could.

#include <algorithm>

#include "diagnose/pace/rules.h"

namespace berth::pace {

namespace {

bool is_low(std::optional<double> share, double percent) { return share && *share * 100 < percent; }

Finding small(const Seen& seen, const DeviceLoad& device) {
  Finding finding{
      .rule = "small_kernels",
      .severity = Severity::warning,
      .title = sentence("kernels run most of the time, and each uses a small part of the GPU"),
      .evidence = {busy_sentence(seen)},
      .meaning =
          sentence("Launching a kernel takes microseconds on the CPU: where each does little, "
                   "that is the limit. The batch is too small, or there are too many steps."),
      .steps = advice(Advice::bigger_work, seen.activity.framework)};
  if (device.sm) {
    finding.evidence.push_back(
        sentence("while kernels ran {} of the SMs were busy", percent(*device.sm)));
  } else {
    finding.doubt =
        sentence("how busy the SMs were is not told by this device: by its power alone");
  }
  if (device.power) {
    finding.evidence.push_back(sentence("it drew {} of its power limit", percent(*device.power)));
  }
  if (const ProcessLoad* main = main_process(seen); main != nullptr && seen.features.saw_threads) {
    finding.evidence.push_back(sentence("the thread that launches them is busy {} of the time",
                                        percent(main->best_thread)));
  }
  return finding;
}

}  // namespace

std::optional<Cause> small_kernels(const Seen& seen) {
  const Thresholds& t = seen.thresholds;
  if (!gpu_runs(seen) || seen.features.ranks > 1) return {};
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.busy.value_or(0) < 1 - t.running_idle_share) continue;
    const bool few_sms = is_low(device.sm, t.small_sm_percent);
    const bool little_power = is_low(device.power, t.low_power_share * 100);
    // Without counters of the SMs the power has to be lower to tell as much.
    const bool very_little = is_low(device.power, t.low_power_share * 80);
    const bool memory_works =
        device.dram ? !is_low(device.dram, t.dram_percent)
                    : device.memory_busy.value_or(0) * 100 >= t.memory_utilization_percent;
    const bool is_small = device.sm ? few_sms && (little_power || !device.power) : very_little;
    if (!is_small || memory_works) continue;
    const double used = device.sm.value_or(device.power.value_or(0)) * *device.busy;
    return Cause{small(seen, device), std::max(seen.features.idle(), 1 - used)};
  }
  return {};
}

std::optional<Cause> memory_bound(const Seen& seen) {
  const Thresholds& t = seen.thresholds;
  if (!gpu_runs(seen)) return {};
  for (const DeviceLoad& device : seen.features.devices) {
    const bool dram_full = device.dram && *device.dram * 100 >= t.dram_percent;
    const bool tensor_idle = !device.tensor || *device.tensor * 100 < t.tensor_percent;
    const bool by_utilization =
        !device.dram && device.memory_busy.value_or(0) * 100 >= t.memory_utilization_percent;
    if (!tensor_idle || (!dram_full && !by_utilization)) continue;
    Finding finding{
        .rule = "memory_bound",
        .severity = Severity::hint,
        .title = sentence("the GPU's memory is the limit, not its arithmetic"),
        .evidence = {busy_sentence(seen)},
        .meaning = sentence("Kernels that do little with each number they read (element-wise work, "
                            "norms, attention in parts, decoding) run as fast as the memory."),
        .steps = advice(Advice::less_traffic, seen.activity.framework)};
    if (dram_full) {
      finding.evidence.push_back(sentence(
          "while kernels ran {} of the memory's bandwidth was in use", percent(*device.dram)));
    } else {
      finding.evidence.push_back(
          sentence("the memory was read or written {} of the time", percent(*device.memory_busy)));
      finding.doubt = sentence("how much of the bandwidth was in use is not told by this device");
    }
    if (device.tensor) {
      finding.evidence.push_back(
          sentence("the tensor cores worked {} of that time", percent(*device.tensor)));
    }
    // It computes all the same: whatever else is found costs more.
    constexpr double modest = 0.05;
    return Cause{std::move(finding), modest};
  }
  return {};
}

namespace {

double highest(const Features& features, double DeviceLoad::* share) {
  double most = 0;
  for (const DeviceLoad& device : features.devices) most = std::max(most, device.*share);
  return most;
}

std::optional<double> capped_clock(const Features& features, double DeviceLoad::* share) {
  for (const DeviceLoad& device : features.devices) {
    if (device.*share > 0 && device.*share >= highest(features, share)) return device.capped_clock;
  }
  return std::nullopt;
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

}  // namespace

std::optional<Cause> throttled_power(const Seen& seen) {
  const double share = highest(seen.features, &DeviceLoad::capped_by_power);
  if (share < seen.thresholds.slow_share) return {};
  const double clock = capped_clock(seen.features, &DeviceLoad::capped_by_power).value_or(1);
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
                 ""}},
      .doubt = {}};
  if (lowered != nullptr) {
    finding.evidence.push_back(sentence("the limit is set to {} W, by default it is {} W",
                                        lowered->power_limit.get()->count() / 1000,
                                        lowered->power_limit_default.get()->count() / 1000));
  }
  return Cause{std::move(finding), share * (1 - clock)};
}

std::optional<Cause> throttled_heat(const Seen& seen) {
  const double share = highest(seen.features, &DeviceLoad::capped_by_heat);
  if (share < seen.thresholds.slow_share) return {};
  const double clock = capped_clock(seen.features, &DeviceLoad::capped_by_heat).value_or(1);
  Finding finding{
      .rule = "throttled_heat",
      .severity = Severity::warning,
      .title = sentence("the GPU is too hot and slows itself down"),
      .evidence = {sentence("the driver names heat as what holds the clocks, {} of the time",
                            percent(share)),
                   sentence("its SMs ran at {} of their highest clock meanwhile", percent(clock))},
      .meaning = sentence("Air does not reach it, a fan stands still, or its neighbours heat it."),
      .steps = {{sentence("see temperatures and fans"), "nvidia-smi -q -d TEMPERATURE"},
                {sentence("tell the administrator; a card further from the others may be cooler"),
                 ""}},
      .doubt = {}};
  for (const Step& step : seen.activity.steps) {
    for (const DeviceStep& device : step.devices) {
      if (!device.temperature.get() || !device.throttle.get() || !device.throttle.get()->heat)
        continue;
      finding.evidence.push_back(sentence("it was at {} °C", device.temperature.get()->count()));
      return Cause{std::move(finding), share * (1 - clock)};
    }
  }
  return Cause{std::move(finding), share * (1 - clock)};
}

}  // namespace berth::pace
