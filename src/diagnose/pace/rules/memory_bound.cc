// Kernels run, and the GPU's memory is what they wait for.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

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

}  // namespace berth::pace
