// Threads that have work wait for a CPU.

#include <fmt/format.h>

#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

std::string holder(const Seen& seen) {
  const ProcessLoad* main = main_process(seen);
  return main == nullptr ? "PID" : std::to_string(main->pid);
}

}  // namespace

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

}  // namespace berth::pace
