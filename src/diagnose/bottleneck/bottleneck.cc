#include "diagnose/bottleneck/bottleneck.h"

#include <algorithm>
#include <vector>

#include "diagnose/bottleneck/rules.h"

namespace berth::bottleneck {

// A job that swaps waits for storage, one with too few CPUs has workers that seem busy, copies from
// pageable memory keep a thread busy.
const std::vector<Rule>& all_rules() {
  static const auto all = rows_of<Rule>({idle_job_rules, device_rules, host_rules, kernels_rules});
  return all;
}

Bottleneck explain_bottleneck(const Activity& activity, const Thresholds& thresholds) {
  Bottleneck bottleneck{.features = features_of(activity, thresholds)};
  std::vector<Cause> causes;
  for (const Rule& rule : all_rules()) {
    if (auto cause = rule.find({activity, bottleneck.features, thresholds}))
      causes.push_back(*std::move(cause));
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) { return a.cost > b.cost; });
  for (Cause& cause : causes) bottleneck.findings.push_back(std::move(cause.finding));
  return bottleneck;
}

}  // namespace berth::bottleneck
