// Somebody is on the GPU, holds its memory and computes nowhere.

#include "base/text.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

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
                   "or a deadlock: the memory is nobody else's meanwhile."),
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

}  // namespace berth::pace
