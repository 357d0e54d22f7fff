// The program that holds the GPU computes beside it.

#include "base/text.h"
#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> computes_on_cpu(const Seen& seen) {
  const Features& features = seen.features;
  const ProcessLoad* main = main_process(seen);
  if (!gpu_is_still(seen) || main == nullptr || !features.saw_processes) return {};
  if (main->wanted < seen.thresholds.computing_cpus) return {};
  // Of a whole tree, as a record has it, nobody can tell whether it is the process or its loaders.
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

}  // namespace berth::pace
