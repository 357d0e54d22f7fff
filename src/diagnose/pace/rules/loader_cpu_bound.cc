// What loads is busy all the time, and no CPU is left for more of it.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/data_loaders.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> loader_cpu_bound(const Seen& seen) {
  const auto left = unused_cpu_share(seen.features);
  if (left && *left >= seen.thresholds.free_cpus_share) return {};
  auto finding = starving(seen, loaders_of(seen));
  if (!finding) return {};
  finding->rule = "loader_cpu_bound";
  finding->title = sentence("the GPU waits for data: loading takes all the CPU there is");
  if (left) {
    finding->evidence.push_back(sentence("the job may use {} CPUs, and {} of them are in use",
                                         decimal(*seen.features.cpus), percent(1 - *left)));
  }
  finding->meaning = sentence(
      "More workers would share the same CPUs: what is done to each sample "
      "has to become less.");
  finding->steps = advice(Advice::lighter_loading, seen.activity.framework);
  return Cause{*std::move(finding), seen.features.idle()};
}

}  // namespace berth::pace
