// What loads is busy all the time, and CPUs are left over.

#include <algorithm>

#include "diagnose/pace/advice.h"
#include "diagnose/pace/data_loaders.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

/// How many workers each process on a device can have, one CPU left for itself; 0: not known.
int fitting_workers(const Features& features) {
  if (!features.cpus) return 0;
  const double ranks_here =
      static_cast<double>(std::max<std::size_t>(1, features.holders.processes.size()));
  return static_cast<int>(std::clamp(*features.cpus / ranks_here - 1, 1.0, 32.0));
}

}  // namespace

std::optional<Cause> loader_too_few_workers(const Seen& seen) {
  const auto left = unused_cpu_share(seen.features);
  if (!left || *left < seen.thresholds.free_cpus_share) return {};
  auto finding = starving(seen, loaders_of(seen));
  if (!finding) return {};
  finding->rule = "loader_too_few_workers";
  finding->title = sentence("the GPU waits for data: there are too few workers to load it");
  finding->evidence.push_back(sentence("the job may use {} CPUs, and {} of them are left over",
                                       decimal(*seen.features.cpus), percent(*left)));
  finding->meaning =
      sentence("The workers there are never rest, and more of them would have CPUs.");
  finding->steps =
      advice(Advice::more_workers, seen.activity.framework, fitting_workers(seen.features));
  return Cause{*std::move(finding), seen.features.idle()};
}

}  // namespace berth::pace
