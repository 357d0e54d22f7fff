#include "diagnose/bottleneck/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace berth::bottleneck {

// The order matters. A job that swaps waits for storage. A job with too few CPUs has workers that
// seem busy. Copies from pageable memory keep a thread busy.
const std::vector<BottleneckRule>& all_rules() {
  static const auto all =
      rows_of<BottleneckRule>({idle_job_rules, device_rules, host_rules, kernels_rules});
  return all;
}

Bottleneck explain_bottleneck(const Activity& activity, const Thresholds& thresholds) {
  Bottleneck bottleneck{.features = features_of(activity, thresholds)};
  std::vector<Cause> causes;
  for (const BottleneckRule& rule : all_rules()) {
    if (auto cause = rule.find({activity, bottleneck.features, thresholds}))
      causes.push_back(*std::move(cause));
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) { return a.cost > b.cost; });
  for (Cause& cause : causes) bottleneck.findings.push_back(std::move(cause.finding));
  return bottleneck;
}

bool gpu_waits(const Evidence& seen) {
  return seen.features.busy && seen.features.idle() >= seen.thresholds.idle_share;
}

bool gpu_is_still(const Evidence& seen) {
  return seen.features.busy && *seen.features.busy * 100 <= seen.thresholds.still_percent;
}

bool gpu_runs(const Evidence& seen) {
  return seen.features.busy && seen.features.idle() <= seen.thresholds.running_idle_share;
}

const ProcessLoad* main_process(const Evidence& seen) {
  const auto& holders = seen.features.holders.processes;
  return holders.empty() ? nullptr : &holders.front();
}

bool main_is_saturated(const Evidence& seen) {
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

std::string percent(double share) {
  return fmt::format("{:.0f} %", std::clamp(share, 0.0, 1.0) * 100);
}

std::string decimal(double value) { return fmt::format("{:.1f}", value); }

std::string size_rate(double per_second) {
  return short_size(Bytes(static_cast<std::uint64_t>(std::clamp(per_second, 0.0, 1e15)))) + "/s";
}

Sentence busy_sentence(const Evidence& seen) {
  return sentence("a kernel ran {} of the time that was looked at ({} s)",
                  percent(seen.features.busy.value_or(0)),
                  fmt::format("{:.0f}", seen.features.seconds_counted));
}

Sentence doubt_of(const Evidence& seen) {
  const Features& features = seen.features;
  if (!features.saw_processes) {
    return sentence(
        "nothing of the job's processes could be read. They are another user's, or only a record "
        "of the run was at hand");
  }
  if (!features.saw_io) {
    return sentence(
        "what the processes read from files could not be seen: they are another user's");
  }
  if (seen.features.seconds < 5) {
    return sentence("only {} seconds were looked at", decimal(features.seconds));
  }
  return {};
}

}  // namespace berth::bottleneck
