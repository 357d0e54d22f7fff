#include "diagnose/bottleneck/questions.h"

#include <algorithm>

namespace berth::bottleneck {

bool gpu_waits(const Seen& seen) {
  return seen.features.busy && seen.features.idle() >= seen.thresholds.idle_share;
}

bool gpu_is_still(const Seen& seen) {
  return seen.features.busy && *seen.features.busy * 100 <= seen.thresholds.still_percent;
}

bool gpu_runs(const Seen& seen) {
  return seen.features.busy && seen.features.idle() <= seen.thresholds.running_idle_share;
}

const ProcessLoad* main_process(const Seen& seen) {
  const auto& holders = seen.features.holders.processes;
  return holders.empty() ? nullptr : &holders.front();
}

bool main_is_saturated(const Seen& seen) {
  const ProcessLoad* main = main_process(seen);
  if (main == nullptr || !seen.features.saw_processes) return false;
  // Threads that take turns under one lock (Python's) add up to one CPU.
  constexpr double more_than_one_thread = 1.3;
  const bool is_one = main->wanted <= more_than_one_thread;
  const double wanted =
      std::min(1.0, is_one ? std::max(main->best_thread, main->wanted) : main->best_thread);
  // CUDA's waiting spins: a thread that is busy while kernels run says nothing. It has to be busy
  // when none runs.
  const double idle = 1 - wanted;
  return idle <= seen.thresholds.saturated_idle_share && idle <= seen.features.idle() / 2;
}

}  // namespace berth::bottleneck
