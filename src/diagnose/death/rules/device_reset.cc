// A device was reset under the job: what the sampler saw (the record's events).

#include "diagnose/death/rules.h"

namespace berth {

namespace {

Finding reset_finding() {
  return {.rule = "device_reset",
          .severity = Severity::error,
          .title = sentence("a device of the run was reset while it ran"),
          .evidence = {},
          .meaning = sentence(
              "A reset takes from the job all that it had on the device, which nothing brings "
              "back."),
          .steps = {{sentence("ask the administrator who reset it, and what for"), ""},
                    {sentence("see how the devices are now"), "berth health"}},
          .doubt = {}};
}

}  // namespace

Findings device_reset(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run)) return {};
  if (!run.end->because.empty() && run.end->because != end_cause::gpu_fault) return {};
  Finding reset = reset_finding();
  add_events("gpu_back", evidence, reset);
  if (reset.evidence.empty()) return {};
  return {std::move(reset)};
}

}  // namespace berth
