#include <fmt/format.h>

#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/tested_gpu.h"

namespace berth::doctor {

Findings gpu_not_tested(const Examined& host) {
  Findings findings;
  for (const TestedGpu& gpu : tested_gpus(host)) {
    if (!gpu.test.is_taken) continue;
    findings.push_back(
        {.rule = "gpu_not_tested",
         .severity = Severity::hint,
         .title = sentence("GPU {} was not tested", gpu.name),
         .evidence = {Sentence(gpu.test.left_out, {})},
         .meaning = sentence("A test would slow down whoever is on it."),
         .steps = {{sentence("test it all the same, beside whoever is there"),
                    fmt::format("berth doctor --gpu-test --force -i {}", gpu.name)}}});
  }
  return findings;
}

}  // namespace berth::doctor
