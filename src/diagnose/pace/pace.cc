#include "diagnose/pace/pace.h"

#include <algorithm>
#include <array>
#include <vector>

#include "diagnose/pace/rules.h"

namespace berth::pace {

namespace {

// What brings about another's symptoms comes before it: a job that swaps waits for storage, one
// with too few CPUs has workers that seem busy, copies from pageable memory keep a thread busy.
constexpr Rule rules[] = {nothing_running,        memory_held_idle,   swapping,
                          shared_with_others,     throttled_heat,     throttled_power,
                          waiting_for_ranks,      periodic_pauses,    computes_on_cpu,
                          too_few_cpus,           host_device_copies, loader_storage_bound,
                          loader_too_few_workers, loader_cpu_bound,   small_kernels,
                          serial_python,          memory_bound};

// tools/check_docs.py holds doc/EXPLAIN.md against this list.
constexpr auto rule_names = std::to_array<std::string_view>({
    "nothing_running",
    "memory_held_idle",
    "swapping",
    "shared_with_others",
    "throttled_heat",
    "throttled_power",
    "waiting_for_ranks",
    "periodic_pauses",
    "computes_on_cpu",
    "too_few_cpus",
    "host_device_copies",
    "loader_storage_bound",
    "loader_too_few_workers",
    "loader_cpu_bound",
    "small_kernels",
    "serial_python",
    "memory_bound",
});

}  // namespace

Pace explain_pace(const Activity& activity, const Thresholds& thresholds) {
  Pace pace{.features = features_of(activity, thresholds)};
  std::vector<Cause> causes;
  for (const Rule rule : rules) {
    if (auto cause = rule({activity, pace.features, thresholds}))
      causes.push_back(*std::move(cause));
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) { return a.cost > b.cost; });
  for (Cause& cause : causes) pace.findings.push_back(std::move(cause.finding));
  return pace;
}

std::span<const std::string_view> pace_rule_names() { return rule_names; }

}  // namespace berth::pace
