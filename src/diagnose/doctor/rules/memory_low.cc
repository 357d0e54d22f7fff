#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings memory_low(const Examined& host) {
  if (!host.world.limits) return {};
  const Limits& limits = *host.world.limits;
  const auto& total = limits.memory_total.get();
  const auto& available = limits.memory_available.get();
  if (!total || !available || available->count() * 20 >= total->count()) return {};
  Finding finding{
      .rule = "memory_low",
      .severity = Severity::warning,
      .title = sentence("the machine's memory is nearly used up"),
      .evidence = {sentence("{} of {} are available", short_size(*available), short_size(*total))},
      .meaning = sentence("What needs more is slowed down by swapping, or killed by the kernel."),
      .steps = {{sentence("see who has it"), "ps aux --sort=-rss | head"}}};
  const auto& swap = limits.swap_total.get();
  const auto& swap_free = limits.swap_free.get();
  if (swap && swap_free && swap->count() > 0 && swap_free->count() * 2 < swap->count()) {
    finding.evidence.push_back(
        sentence("{} of {} of swap are left", short_size(*swap_free), short_size(*swap)));
  }
  return {std::move(finding)};
}

}  // namespace berth::doctor
