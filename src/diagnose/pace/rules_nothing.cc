// Nothing is asked of the GPU.

#include "base/text.h"
#include "diagnose/pace/rules.h"

namespace berth::pace {

namespace {

/// Or may be: who is there was not told.
bool anybody_else(const Seen& seen) {
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.most_others > 0) return true;
    if (seen.activity.taken_by == TakenBy::watch && !device.knows_others) return true;
  }
  return false;
}

}  // namespace

std::optional<Cause> nothing_running(const Seen& seen) {
  const Features& features = seen.features;
  if (!gpu_is_still(seen) || main_process(seen) != nullptr || anybody_else(seen)) return {};
  if (seen.activity.taken_by == TakenBy::run_samples && features.gpu_memory.value_or(1) > 0) {
    return {};
  }
  Finding finding{
      .rule = "nothing_running",
      .severity = Severity::warning,
      .title = sentence("no process is on the GPU: there is nothing that could keep it busy"),
      .evidence = {sentence("the driver lists no process on it"), busy_sentence(seen)},
      .meaning =
          sentence("A program is on a GPU from its first call that needs one (a tensor moved "
                   "there) until it ends."),
      .steps = {{sentence("see whether the job still runs, and what it says"), "berth runs"}}};
  if (features.saw_processes && features.cpu > seen.thresholds.asleep_share) {
    finding.evidence.push_back(sentence("the job's processes use {} CPUs", decimal(features.cpu)));
    finding.steps.insert(finding.steps.begin(),
                         {sentence("it may still be starting: importing, reading its data"), ""});
  }
  return Cause{std::move(finding), 1};
}

std::optional<Cause> memory_held_idle(const Seen& seen) {
  const Features& features = seen.features;
  if (!gpu_is_still(seen)) return {};
  const ProcessLoad* main = main_process(seen);
  if (main == nullptr) return {};
  if (features.saw_processes && features.wanted > seen.thresholds.asleep_share) return {};
  for (const ProcessLoad& worker : features.workers.processes) {
    if (worker.disk_wait >= seen.thresholds.disk_wait_share) return {};
  }
  if (main->disk_wait >= seen.thresholds.disk_wait_share) return {};
  Finding finding{
      .rule = "memory_held_idle",
      .severity = Severity::warning,
      .title = sentence("memory of the GPU is held, and nothing computes"),
      .evidence = {busy_sentence(seen)},
      .meaning =
          sentence("A notebook that is left open, a program that waits for input, a debugger "
                   "or a dead lock: the memory is nobody else's meanwhile."),
      .steps = {{sentence("end it, or restart the notebook's kernel, if nobody needs it"), ""},
                {sentence("see where it stands"),
                 "py-spy dump --pid " + std::to_string(main->pid)}},
      .doubt = doubt_of(seen)};
  if (features.gpu_memory) {
    finding.evidence.push_back(
        sentence("{} of the GPU's memory is held by process {} ({})",
                 short_size(Bytes(static_cast<std::uint64_t>(*features.gpu_memory))), main->pid,
                 printable(main->name)));
  }
  if (features.saw_processes) {
    finding.evidence.push_back(
        sentence("the job's processes used {} of one CPU", percent(features.cpu)));
  }
  return Cause{std::move(finding), 1};
}

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
