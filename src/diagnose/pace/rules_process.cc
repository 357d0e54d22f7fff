// The main process, or what it runs on, is too slow.

#include <algorithm>

#include "base/text.h"
#include "diagnose/pace/rules.h"

namespace berth::pace {

std::optional<Cause> serial_python(const Seen& seen) {
  const Features& features = seen.features;
  if (!gpu_waits(seen) || !main_is_saturated(seen)) return {};
  if (features.saturated_workers > 0) return {};
  const ProcessLoad& main = *main_process(seen);
  const bool of_a_record = seen.activity.taken_by == TakenBy::run_samples;
  // A record has the whole tree's CPU time alone: more than one thread's may be loaders.
  constexpr double about_one_cpu = 1.3;
  if (of_a_record && main.wanted > about_one_cpu) return {};
  Finding finding{
      .rule = "serial_python",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for one thread that is busy all the time"),
      .evidence = {busy_sentence(seen),
                   sentence("of process {} ({}) one thread has work {} of the time", main.pid,
                            printable(main.name),
                            percent(std::max(main.best_thread, std::min(1.0, main.wanted))))},
      .meaning =
          sentence("What it does between the kernels (loading, preparing, Python itself) runs "
                   "on one CPU, however many there are."),
      .steps = advice(Advice::overlap, seen.activity.framework),
      .doubt = doubt_of(seen)};
  if (of_a_record) {
    finding.title = sentence("the GPU waits, and the job uses about one CPU all the time");
    finding.evidence = {busy_sentence(seen),
                        sentence("its processes use {} CPUs together", decimal(main.wanted))};
    finding.doubt = sentence("a record has neither threads nor children: watch it while it runs");
    return Cause{std::move(finding), features.idle()};
  }
  finding.evidence.push_back(
      features.workers_all == 0
          ? sentence("it has no child processes that could load for it")
          : sentence("{} of its {} child processes do anything worth telling",
                     features.workers.processes.size(), features.workers_all));
  finding.steps.push_back(
      {sentence("see what it does"), "py-spy top --pid " + std::to_string(main.pid)});
  return Cause{std::move(finding), features.idle()};
}

std::optional<Cause> host_device_copies(const Seen& seen) {
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
  const std::string share = busiest->pcie ? percent(*busiest->pcie) : "?";
  return Cause{
      {.rule = "host_device_copies",
       .severity = Severity::warning,
       .title = sentence("the time goes into copies between host and device"),
       .evidence = {busy_sentence(seen),
                    busiest->receives
                        ? sentence("{} go to the device, {} of what its PCIe link carries",
                                   size_rate(*busiest->pcie_rate), share)
                        : sentence("{} come back from the device, {} of what its PCIe link carries",
                                   size_rate(*busiest->pcie_rate), share)},
       .meaning =
           sentence("Copies from ordinary (pageable) memory reach a fraction of the link, and "
                    "no kernel runs meanwhile."),
       .steps = advice(Advice::pinned_copies, seen.activity.framework),
       .doubt = {}},
      features.idle()};
}

std::optional<Cause> too_few_cpus(const Seen& seen) {
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
                {sentence("see which it may use"), "taskset -cp PID"},
                {sentence("start no more workers and threads than there are CPUs (num_workers, "
                          "OMP_NUM_THREADS)"),
                 ""}},
      .doubt = doubt_of(seen)};
  if (restricted) {
    finding.evidence.push_back(sentence("the machine has {} CPUs", decimal(*features.cpus_host)));
  }
  if (by_others) {
    finding.evidence.push_back(sentence("others use {} CPUs", decimal(others)));
  }
  return Cause{std::move(finding), features.idle()};
}

std::optional<Cause> swapping(const Seen& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen)) return {};
  const double swapped = features.swapped_bytes.value_or(0);
  const bool reads_back = features.swap_rate.value_or(0) >= t.swap_rate;
  const bool faults = features.major_faults.value_or(0) >= t.major_faults_rate;
  if (swapped <= 0 || (!reads_back && !faults)) return {};
  Finding finding{
      .rule = "swapping",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for memory that was swapped out"),
      .evidence = {busy_sentence(seen),
                   sentence("{} of the job's memory is swapped out",
                            short_size(Bytes(static_cast<std::uint64_t>(swapped))))},
      .meaning =
          sentence("The machine or the job's limit has too little memory: each touch of a page "
                   "that is out is a read from the disk."),
      .steps = {{sentence("load with fewer workers, or smaller batches ahead (prefetch_factor)"),
                 ""},
                {sentence("see who has the memory"), "ps aux --sort=-rss | head"}},
      .doubt = {}};
  if (features.swap_rate) {
    finding.evidence.push_back(
        sentence("the machine reads {} back from the swap space", size_rate(*features.swap_rate)));
  }
  if (features.major_faults) {
    finding.evidence.push_back(sentence("{} times a second the job waited for a page from the disk",
                                        decimal(*features.major_faults)));
  }
  return Cause{std::move(finding), features.idle()};
}

}  // namespace berth::pace
