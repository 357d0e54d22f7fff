#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings memory_limit_near(const Examined& host) {
  if (!host.world.limits) return {};
  const Limits& limits = *host.world.limits;
  const auto& total = limits.memory_total.get();
  const auto& limit = limits.memory_limit.get();
  const auto& charged = limits.memory_charged.get();
  if (!limit || !charged || !total || limit->count() >= total->count() ||
      charged->count() * 20 <= limit->count() * 19) {
    return {};
  }
  return {{.rule = "memory_limit_near",
           .severity = Severity::warning,
           .title = sentence("the memory limit of this container or job is nearly reached"),
           .evidence = {sentence("{} of {} are charged to its control group", short_size(*charged),
                                 short_size(*limit))},
           .meaning =
               sentence("Beyond it the kernel kills a process of the group, mostly the largest."),
           .steps = {{sentence("ask for more memory, or for fewer data-loader workers"), ""}},
           .doubt = sentence("a part of it may be file cache, which the kernel takes back first")}};
}

}  // namespace berth::doctor
