#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings launch_blocking(const Examined& host) {
  const auto value = host.world.variable("CUDA_LAUNCH_BLOCKING");
  if (!value || *value != "1") return {};
  return {
      {.rule = "launch_blocking",
       .severity = Severity::hint,
       .title = sentence("CUDA_LAUNCH_BLOCKING=1 makes the CPU wait for every kernel"),
       .evidence = {sentence("{}={}", "CUDA_LAUNCH_BLOCKING", *value)},
       .meaning = sentence("Good for finding the line of an error, and slow for everything else."),
       .steps = {{sentence("when the error is found"), "unset CUDA_LAUNCH_BLOCKING"}}}};
}

}  // namespace berth::doctor
