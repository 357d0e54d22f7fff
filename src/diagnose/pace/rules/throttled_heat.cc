// Clocks are held down by heat.

#include "diagnose/pace/capped_clocks.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> throttled_heat(const Seen& seen) {
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
