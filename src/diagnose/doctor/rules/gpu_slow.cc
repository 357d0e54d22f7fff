#include "diagnose/doctor/gpu_speed.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/tested_gpu.h"

namespace berth::doctor {

namespace {

using compute::ProofStep;

}  // namespace

Findings gpu_slow(const Examined& host) {
  return each_step(host, [](const TestedGpu& gpu, const ProofStep& step, Findings& findings) {
    const auto best = best_rate(step.what, gpu.device);
    if (!best || !step.per_second || *step.per_second >= least_share(step.what) * *best) return;
    Finding finding{
        .rule = "gpu_slow",
        .severity = Severity::warning,
        .title = sentence("GPU {} is slow", gpu.name),
        .evidence = {sentence("GPU {}, {}: {}, {} % of the {} that it could be at best", gpu.name,
                              words_of(step), rate_text(step.what, *step.per_second),
                              static_cast<int>(100 * *step.per_second / *best),
                              rate_text(step.what, *best))},
        .meaning = sentence("Something holds it back: its clocks, its slot, or somebody else."),
        .steps = {{sentence("see whether it is throttled or its link has fewer lanes"),
                   "berth health"}},
        .doubt = sentence("at the very best means on paper; other work on the machine slows a "
                          "short test as well")};
    findings.push_back(std::move(finding));
  });
}

}  // namespace berth::doctor
