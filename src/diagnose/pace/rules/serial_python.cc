// One thread of the main process does all that is done between the kernels.

#include <algorithm>

#include "base/text.h"
#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

/// The two take turns: the thread works for about as long as no kernel runs, and sleeps meanwhile.
bool alternates(const Seen& seen) {
  const ProcessLoad* main = main_process(seen);
  if (main == nullptr || !seen.features.saw_threads) return false;
  return main->best_thread >= (1 - seen.thresholds.saturated_idle_share / 2) * seen.features.idle();
}

Sentence title_of(bool is_saturated) {
  return is_saturated ? sentence("the GPU waits for one thread that is busy all the time")
                      : sentence("the GPU and one thread take turns: it waits while that works");
}

}  // namespace

std::optional<Cause> serial_python(const Seen& seen) {
  const Features& features = seen.features;
  const bool is_saturated = main_is_saturated(seen);
  if (!gpu_waits(seen) || (!is_saturated && !alternates(seen))) return {};
  if (features.saturated_workers > 0) return {};
  const ProcessLoad& main = *main_process(seen);
  const bool of_a_record = seen.activity.taken_by == TakenBy::run_samples;
  // A record has the whole tree's CPU time alone: more than one thread's may be loaders.
  constexpr double about_one_cpu = 1.3;
  if (of_a_record && main.wanted > about_one_cpu) return {};
  Finding finding{
      .rule = "serial_python",
      .severity = Severity::warning,
      .title = title_of(is_saturated),
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

}  // namespace berth::pace
