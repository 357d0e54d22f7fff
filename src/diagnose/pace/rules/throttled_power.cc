// Clocks are held down by the power limit.

#include "diagnose/pace/capped_clocks.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

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
                 ""}},
      .doubt = {}};
  if (lowered != nullptr) {
    finding.evidence.push_back(sentence("the limit is set to {} W, by default it is {} W",
                                        lowered->power_limit.get()->count() / 1000,
                                        lowered->power_limit_default.get()->count() / 1000));
  }
  return Cause{std::move(finding), share * (1 - clock)};
}

}  // namespace berth::pace
