// The host's side is too slow: the program's own CPU work, copies, data loading.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "diagnose/bottleneck/advice.h"
#include "diagnose/bottleneck/bottleneck.h"

namespace berth::bottleneck {

namespace {

// The loaders for the GPU, and whether the GPU waits for them. Two rules decide by the unused CPUs
// what would help.

/// Worker processes, else threads of the main process (tf.data, DALI).
struct Loaders {
  int working = 0;
  int saturated = 0;
  double wanted = 0;  // of one that works, on average
  bool are_threads = false;
};

/// Most of what works there never rests.
bool are_saturated(const Loaders& loaders) {
  return loaders.saturated > 0 && loaders.saturated * 2 >= loaders.working;
}

Loaders loaders_of(const Evidence& seen) {
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

/// Share of the CPUs that nobody uses; nothing: not known how many there are.
std::optional<double> unused_cpu_share(const Features& features) {
  if (!features.cpus || *features.cpus <= 0) return std::nullopt;
  double used = features.wanted;
  if (features.cpus_busy_by_others && features.cpus_host && *features.cpus >= *features.cpus_host) {
    used += *features.cpus_busy_by_others;
  }
  return std::max(0.0, 1 - used / *features.cpus);
}

/// The evidence that the GPU waits for loaders that never rest, without a rule's name and words.
/// Nothing: the GPU does not wait, or the loaders rest.
std::optional<Finding> starving(const Evidence& seen, const Loaders& loaders) {
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

/// The program that holds the GPU computes beside it.
std::optional<Cause> computes_on_cpu(const Evidence& seen) {
  const Features& features = seen.features;
  const ProcessLoad* main = main_process(seen);
  if (!gpu_is_still(seen) || main == nullptr || !features.saw_processes) return {};
  if (main->wanted < seen.thresholds.computing_cpus) return {};
  // A record has a whole tree. Then nobody can tell whether it is the process or its loaders.
  if (!features.saw_threads && seen.activity.taken_by == TakenBy::run_samples) return {};
  if (features.saw_threads && main->working_threads == 0) return {};
  return Cause{
      {.rule = "computes_on_cpu",
       .severity = Severity::warning,
       .title = sentence("the program computes on the CPU and holds a GPU that it does not use"),
       .evidence = {busy_sentence(seen),
                    sentence("process {} ({}) uses {} CPUs itself, in {} threads that work",
                             main->pid, printable(main->name), decimal(main->cpu),
                             main->working_threads + (main->main_thread >= 0.1 ? 1 : 0))},
       .meaning = sentence("The model or its data was never moved to the GPU, or the framework is "
                           "built for the CPU alone."),
       .steps = advice(Advice::onto_the_device, seen.activity.framework),
       .doubt = doubt_of(seen)},
      1};
}

std::string holder(const Evidence& seen) {
  const ProcessLoad* main = main_process(seen);
  return main == nullptr ? "PID" : std::to_string(main->pid);
}

/// Threads that have work wait for a CPU.
std::optional<Cause> too_few_cpus(const Evidence& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen) || !features.run_delay || !features.cpus) return {};
  if (*features.run_delay < t.waiting_for_cpu_share) return {};
  // A job that fills all CPUs of a machine by its own workers has enough of them.
  const bool restricted = features.cpus_host && *features.cpus < 0.75 * *features.cpus_host;
  const double others = features.cpus_busy_by_others.value_or(0);
  const bool crowded = features.wanted >= t.crowded_factor * *features.cpus;
  const bool by_others = others >= 0.3 * *features.cpus &&
                         features.wanted + others >= t.crowded_factor * *features.cpus;
  const bool loaders_fill_it = features.saturated_workers >= 2 && !restricted && !by_others;
  if ((!crowded && !by_others) || loaders_fill_it) return {};
  Finding finding{
      .rule = "too_few_cpus",
      .severity = Severity::warning,
      .title = sentence("the job has too few CPUs: its threads take turns on them"),
      .evidence = {busy_sentence(seen),
                   sentence("its threads waited for a CPU {} of the time in which they had work",
                            percent(*features.run_delay)),
                   sentence("they want {} CPUs, and may use {}", decimal(features.wanted),
                            decimal(*features.cpus))},
      .meaning =
          sentence("An affinity, a quota of the control group or other jobs keep it from the "
                   "rest of the machine."),
      .steps = {{sentence("ask the scheduler or the container for more CPUs (--cpus-per-task, "
                          "--cpus)"),
                 ""},
                {sentence("see which it may use"), "taskset -cp " + holder(seen)},
                {sentence("start no more workers and threads than there are CPUs (num_workers, "
                          "OMP_NUM_THREADS)"),
                 ""}},
      .doubt = doubt_of(seen)};
  if (features.preemptions) {
    finding.evidence.push_back(
        sentence("with work left they were taken off a CPU {} times a second",
                 fmt::format("{:.0f}", *features.preemptions)));
  }
  if (restricted) {
    finding.evidence.push_back(sentence("the machine has {} CPUs", decimal(*features.cpus_host)));
  }
  if (by_others) {
    finding.evidence.push_back(sentence("others use {} CPUs", decimal(others)));
  }
  return Cause{std::move(finding), features.idle()};
}

/// No kernel runs while data goes over the PCIe link.
std::optional<Cause> host_device_copies(const Evidence& seen) {
  const Features& features = seen.features;
  if (!gpu_waits(seen)) return {};
  const DeviceLoad* busiest = nullptr;
  for (const DeviceLoad& device : features.devices) {
    if (!device.pcie_rate) continue;
    if (busiest == nullptr || *device.pcie_rate > *busiest->pcie_rate) busiest = &device;
  }
  if (busiest == nullptr) return {};
  const bool much = busiest->pcie.value_or(0) >= seen.thresholds.pcie_share ||
                    *busiest->pcie_rate >= seen.thresholds.pcie_rate;
  if (!much) return {};
  const std::string rate = size_rate(*busiest->pcie_rate);
  const bool receives = busiest->receives;
  Sentence traffic = receives ? sentence("{} go to the device", rate)
                              : sentence("{} come back from the device", rate);
  if (busiest->pcie) {
    const std::string share = percent(*busiest->pcie);
    traffic = receives
                  ? sentence("{} go to the device, {} of what its PCIe link carries", rate, share)
                  : sentence("{} come back from the device, {} of what its PCIe link carries", rate,
                             share);
  }
  return Cause{{.rule = "host_device_copies",
                .severity = Severity::warning,
                .title = sentence("the time goes into copies between host and device"),
                .evidence = {busy_sentence(seen), std::move(traffic)},
                .meaning = sentence(
                    "Copies from ordinary (pageable) memory reach a fraction of the link, and "
                    "no kernel runs meanwhile."),
                .steps = advice(Advice::pinned_copies, seen.activity.framework)},
               features.idle()};
}

/// How those that load wait for the disk.
struct DiskWait {
  double share = 0;   // of the looks at them, the mean of them
  double wanted = 0;  // CPU of each
  int count = 0;
};

DiskWait disk_wait_of(const Evidence& seen) {
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

/// The loaders wait for storage.
std::optional<Cause> loader_storage_bound(const Evidence& seen) {
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
                   sentence("{} processes that load stood waiting for storage (state D) in {} of "
                            "the looks at them. They used {} of a CPU each",
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

/// How many workers each process on a device can have, more than work now. One CPU is left for the
/// process itself. 0: not known.
int more_workers_that_fit(const Evidence& seen) {
  if (!seen.features.cpus) return 0;
  const double ranks =
      static_cast<double>(std::max<std::size_t>(1, seen.features.holders.processes.size()));
  const double more = std::floor(loaders_of(seen).working / ranks) + 1;
  return static_cast<int>(std::max(more, std::min(*seen.features.cpus / ranks - 1, 32.0)));
}

/// The loaders are busy all the time, and CPUs are left over.
std::optional<Cause> loader_too_few_workers(const Evidence& seen) {
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
      advice(Advice::more_workers, seen.activity.framework, more_workers_that_fit(seen));
  return Cause{*std::move(finding), seen.features.idle()};
}

/// The loaders are busy all the time, and no CPU is left for more of them.
std::optional<Cause> loader_cpu_bound(const Evidence& seen) {
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

}  // namespace

std::span<const BottleneckRule> host_rules() {
  static constexpr BottleneckRule rules[] = {
      {.find = computes_on_cpu,
       .reports =
           {{"computes_on_cpu",
             "a process holds the GPU, no kernel ever runs on it, and the process itself computes "
             "on several CPUs at once (a model that was never moved to the GPU, a CPU-only build)",
             "no kernel, CPUs and working threads of the process itself",
             "move model and data there; `berth doctor`"}}},
      {.find = too_few_cpus,
       .reports = {{"too_few_cpus",
                    "the GPU waits, and the job's threads take turns on fewer CPUs than they need "
                    "(affinity, a control group's quota, other jobs): they spend much of the time "
                    "ready to run and not running",
                    "share of the wanted time that threads waited for a CPU; CPUs wanted, allowed, "
                    "of the machine",
                    "more CPUs from the scheduler; fewer threads"}}},
      {.find = host_device_copies,
       .reports = {{"host_device_copies",
                    "the GPU waits while the PCIe link carries a good part of what it can: the "
                    "time goes into copies between host and device",
                    "PCIe bytes per second against the link (an eighth of it, or 3 GB/s, which is "
                    "what pageable memory reaches)",
                    "pin_memory and non_blocking, prefetch_to_device, device_put ahead"}}},
      {.find = loader_storage_bound,
       .reports = {{"loader_storage_bound",
                    "the GPU waits, and what loads the data (workers or the main process) "
                    "mostly waits for storage: state D, bytes read from the disk rather than from "
                    "the cache, little CPU time",
                    "share of looks in state D, bytes from storage against all that were read, PSI",
                    "a local disk, larger files, more reads at a time"}}},
      {.find = loader_too_few_workers,
       .reports = {{"loader_too_few_workers",
                    "the GPU waits for data-loader workers that are busy all the time, and at "
                    "least about a third of the CPUs is left over: more of them would help",
                    "the same, and CPUs left over",
                    "num_workers, num_parallel_calls, worker_count"}}},
      {.find = loader_cpu_bound,
       .reports = {{"loader_cpu_bound",
                    "the GPU waits for data-loader workers (child processes) that are busy all the "
                    "time, and there are already about as many of them as CPUs: what they do to "
                    "each sample is too much",
                    "CPU time of each worker and of the main thread; how many CPUs are in use",
                    "prepare once beforehand, transforms on the GPU"}}},
  };
  return rules;
}

}  // namespace berth::bottleneck
