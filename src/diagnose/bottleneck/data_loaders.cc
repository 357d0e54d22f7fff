#include "diagnose/bottleneck/data_loaders.h"

#include <algorithm>
#include <cmath>

#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/bottleneck/questions.h"

namespace berth::bottleneck {

namespace {

/// Most of what works there never rests.
bool are_saturated(const Loaders& loaders) {
  return loaders.saturated > 0 && loaders.saturated * 2 >= loaders.working;
}

}  // namespace

Loaders loaders_of(const Seen& seen) {
  const Features& features = seen.features;
  Loaders loaders;
  for (const ProcessLoad& worker : features.workers.processes) {
    if (worker.wanted < seen.thresholds.working_share) continue;
    ++loaders.working;
    loaders.wanted += worker.wanted;
  }
  loaders.saturated = features.saturated_workers;
  const ProcessLoad* main = main_process(seen);
  if (loaders.working == 0 && main != nullptr && main->working_threads >= 2 &&
      main->wanted >= seen.thresholds.computing_cpus && !gpu_is_still(seen)) {
    // Threads take samples in turn: together they are as saturated as the busiest of them.
    loaders.are_threads = true;
    loaders.working = main->working_threads;
    loaders.wanted = main->wanted - main->main_thread;
    const bool all_day = main->best_thread >= 1 - seen.thresholds.saturated_idle_share;
    loaders.saturated =
        all_day ? static_cast<int>(std::min(1024.0, std::floor(loaders.wanted + 0.3))) : 0;
  }
  if (loaders.working > 0) loaders.wanted /= loaders.working;
  return loaders;
}

std::optional<double> unused_cpu_share(const Features& features) {
  if (!features.cpus || *features.cpus <= 0) return std::nullopt;
  double used = features.wanted;
  if (features.cpus_busy_by_others && features.cpus_host && *features.cpus >= *features.cpus_host) {
    used += *features.cpus_busy_by_others;
  }
  return std::max(0.0, 1 - used / *features.cpus);
}

std::optional<Finding> starving(const Seen& seen, const Loaders& loaders) {
  if (!gpu_waits(seen) || !are_saturated(loaders)) return std::nullopt;
  Finding finding{.severity = Severity::warning, .doubt = doubt_of(seen)};
  finding.evidence.push_back(busy_sentence(seen));
  finding.evidence.push_back(
      loaders.are_threads
          ? sentence("{} threads of the main process load and use {} of a CPU each",
                     loaders.working, percent(loaders.wanted))
          : sentence("{} of {} worker processes that load are busy all the time (each {} of a CPU)",
                     loaders.saturated, loaders.working, percent(loaders.wanted)));
  if (const ProcessLoad* main = main_process(seen); main != nullptr && seen.features.saw_threads) {
    finding.evidence.push_back(sentence("the main thread is busy {} of the time: it waits for them",
                                        percent(main->main_thread)));
  }
  return finding;
}

}  // namespace berth::bottleneck
