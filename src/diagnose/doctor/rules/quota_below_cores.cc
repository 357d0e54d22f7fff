#include <fmt/format.h>

#include <algorithm>

#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_threads.h"

namespace berth::doctor {

Findings quota_below_cores(const Examined& host) {
  if (!host.world.limits) return {};
  const Limits& limits = *host.world.limits;
  const auto& quota = limits.cpu_quota.get();
  const auto& allowed = limits.cpus_allowed.get();
  const bool told = host.world.variable("OMP_NUM_THREADS").has_value();
  // Libraries count the CPUs they may run on and know nothing of a quota.
  if (!quota || !allowed || told || *quota * 2 > static_cast<double>(*allowed)) return {};
  Finding finding{
      .rule = "quota_below_cores",
      .severity = Severity::hint,
      .title = sentence("libraries will start far more threads than the CPU quota carries"),
      .evidence = {sentence("the control group's quota is {} CPUs", fmt::format("{:g}", *quota)),
                   sentence("this process sees {} CPUs, and OMP_NUM_THREADS is not set", *allowed)},
      .meaning = sentence("Each library starts a thread per CPU that it sees; the quota then stops "
                          "them all for a part of every tenth of a second."),
      .steps = {{sentence("ask for as many as the quota carries"),
                 fmt::format("export OMP_NUM_THREADS={}", std::max(1, static_cast<int>(*quota)))}}};
  add_torch_threads(host, finding);
  return {std::move(finding)};
}

}  // namespace berth::doctor
