// Kernels run most of the time, and each of them fills a small part of the GPU.

#include <algorithm>

#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

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

}  // namespace berth::pace
