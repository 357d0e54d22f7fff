// Nobody is on the GPU.

#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

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
  if (seen.activity.taken_by == TakenBy::run_samples) {
    // Between two looks of a record somebody may have come and gone.
    constexpr double shortest = 5;
    if (features.gpu_memory.value_or(1) > 0 || features.seconds < shortest) return {};
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

}  // namespace berth::pace
