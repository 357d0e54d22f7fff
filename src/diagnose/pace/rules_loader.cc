// The data comes too slowly: what loads it is busy all the time, too few, or waits for storage.

#include <algorithm>
#include <cmath>

#include "diagnose/pace/rules.h"

namespace berth::pace {

namespace {

/// What loads for the GPU: worker processes, else threads of the main process (tf.data, DALI).
struct Loaders {
  int working = 0;
  int saturated = 0;
  double wanted = 0;  // of one that works, on average
  bool are_threads = false;
};

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

/// Most of what works there never rests.
bool are_saturated(const Loaders& loaders) {
  return loaders.saturated > 0 && loaders.saturated * 2 >= loaders.working;
}

/// Share of the CPUs that nobody uses; nothing: not known how many there are.
std::optional<double> free_share(const Features& features) {
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

/// How many workers each process on a device can have, one CPU left for itself; 0: not known.
int fitting_workers(const Features& features) {
  if (!features.cpus) return 0;
  const double ranks_here =
      static_cast<double>(std::max<std::size_t>(1, features.holders.processes.size()));
  return static_cast<int>(std::clamp(*features.cpus / ranks_here - 1, 1.0, 32.0));
}

}  // namespace

std::optional<Cause> loader_cpu_bound(const Seen& seen) {
  const auto left = free_share(seen.features);
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

std::optional<Cause> loader_too_few_workers(const Seen& seen) {
  const auto left = free_share(seen.features);
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

namespace {

/// How those that load wait for the disk.
struct DiskWait {
  double share = 0;   // of the looks at them, the mean of them
  double wanted = 0;  // CPU of each
  int count = 0;
};

DiskWait disk_wait_of(const Seen& seen) {
  const Features& features = seen.features;
  const auto& group = features.workers.processes.empty() ? features.holders : features.workers;
  DiskWait wait;
  for (const ProcessLoad& process : group.processes) {
    wait.share += process.disk_wait;
    wait.wanted += process.wanted;
    ++wait.count;
  }
  if (wait.count > 0) {
    wait.share /= wait.count;
    wait.wanted /= wait.count;
  }
  return wait;
}

}  // namespace

std::optional<Cause> loader_storage_bound(const Seen& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen) || !features.saw_processes || main_is_saturated(seen)) return {};
  const DiskWait wait = disk_wait_of(seen);
  constexpr double resting = 0.6;
  if (wait.count == 0 || wait.wanted > resting) return {};
  const bool reads = features.storage_rate && *features.storage_rate >= t.storage_rate;
  // Everything comes from the disk, a lot of it, and nobody has anything else to do.
  const bool reads_alone = reads && *features.storage_rate >= 10 * t.storage_rate &&
                           features.read_rate && *features.storage_rate >= *features.read_rate / 2;
  const bool in_disk_wait = wait.share >= t.disk_wait_share;
  const bool under_pressure = features.io_pressure.value_or(0) >= t.io_pressure_share;
  const bool whole = in_disk_wait && (reads || !features.storage_rate);
  const bool long_waits = wait.share >= 2 * t.disk_wait_share;
  if (!whole && !long_waits && !(under_pressure && reads) && !reads_alone) return {};
  Finding finding{
      .rule = "loader_storage_bound",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for data: storage does not deliver it fast enough"),
      .evidence = {busy_sentence(seen),
                   sentence(
                       "{} processes that load stood waiting for storage (state D) in {} of the "
                       "looks at them, and used {} of a CPU each",
                       wait.count, percent(wait.share), percent(wait.wanted))},
      .meaning = sentence("The CPUs rest and the disk or the file server works."),
      .steps = advice(Advice::faster_storage, seen.activity.framework),
      .doubt = doubt_of(seen)};
  if (features.storage_rate) {
    finding.evidence.push_back(
        sentence("{} came from storage; the programs read {}", size_rate(*features.storage_rate),
                 size_rate(features.read_rate.value_or(*features.storage_rate))));
  }
  if (under_pressure) {
    finding.evidence.push_back(
        sentence("in {} of the time some task of the machine stood still for "
                 "storage",
                 percent(*features.io_pressure)));
  }
  return Cause{std::move(finding), features.idle()};
}

}  // namespace berth::pace
