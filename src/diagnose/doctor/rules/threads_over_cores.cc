#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_threads.h"

namespace berth::doctor {

namespace {

/// CPUs' worth of work that this process may do at a time.
std::optional<double> usable_cpus(const Limits& limits) {
  const auto& allowed = limits.cpus_allowed.get();
  const auto& quota = limits.cpu_quota.get();
  if (!allowed) return std::nullopt;
  return quota ? std::min(*quota, static_cast<double>(*allowed)) : static_cast<double>(*allowed);
}

Finding too_many(std::string_view variable, double usable) {
  return {
      .rule = "threads_over_cores",
      .severity = Severity::warning,
      .title = sentence("more threads are asked for than there are CPUs for them"),
      .evidence = {sentence("this process may use {} CPUs", fmt::format("{:g}", usable))},
      .meaning = sentence("Threads that take turns on one CPU wait for each other: slower than "
                          "with fewer."),
      .steps = {{sentence("ask for as many as there are"),
                 fmt::format("export {}={}", variable, std::max(1, static_cast<int>(usable)))}}};
}

void too_many_by_variables(const Examined& host, double usable, Findings& findings) {
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    const auto value = host.world.variable(name);
    const auto wanted = value ? parse_unsigned(trimmed(*value)) : std::nullopt;
    if (!wanted || static_cast<double>(*wanted) <= std::ceil(usable)) continue;
    Finding finding = too_many(name, usable);
    finding.evidence.insert(finding.evidence.begin(), sentence("{}={}", name, *value));
    add_torch_threads(host, finding);
    findings.push_back(std::move(finding));
  }
}

/// Where no variable says why: a list of numbers in one ("32,4"), a build that counts all CPUs.
void too_many_by_torch(const Examined& host, double usable, Findings& findings) {
  const auto threads = torch_threads(host);
  if (!threads || *threads <= std::ceil(usable) || *threads < 2 * usable) return;
  findings.push_back(too_many("OMP_NUM_THREADS", usable));
  add_torch_threads(host, findings.back());
}

}  // namespace

Findings threads_over_cores(const Examined& host) {
  if (!host.world.limits) return {};
  const auto usable = usable_cpus(*host.world.limits);
  if (!usable) return {};
  Findings findings;
  too_many_by_variables(host, *usable, findings);
  // A quota that is why is told by its own rule.
  if (findings.empty() && quota_below_cores(host).empty())
    too_many_by_torch(host, *usable, findings);
  return findings;
}

}  // namespace berth::doctor
