// What --gpu-test found: devices that compute wrongly, refuse, hang or are slow.

#include <fmt/format.h>

#include "diagnose/doctor/gpu_speed.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/tested_gpu.h"

namespace berth::doctor {

namespace {

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

}  // namespace

Findings gpu_wrong(const Examined& host) {
  return each_step(host, [](const TestedGpu& gpu, const ProofStep& step, Findings& findings) {
    if (step.end != ProofEnd::wrong) return;
    const bool is_product = step.what == ProofOf::multiply;
    const bool is_cpu = step.what == ProofOf::multiply_cpu;
    Finding finding = finding_of(gpu, step);
    finding.rule = is_cpu       ? "cpu_computes_wrong"
                   : is_product ? "gpu_computes_wrong"
                                : "gpu_copies_wrong";
    finding.severity = Severity::error;
    finding.title = is_cpu ? sentence("this machine's CPU computes wrong results")
                    : is_product
                        ? sentence("GPU {} computes wrong results", gpu.name)
                        : sentence("what is copied to or from GPU {} is changed", gpu.name);
    finding.meaning = is_cpu ? sentence("Nothing that this machine computes can be trusted.")
                             : sentence(
                                   "Whole numbers that single precision holds exactly came out "
                                   "different: a training run on it diverges without an error.");
    finding.steps = {{sentence("take it out of use, look at its errors"), "berth health"},
                     {sentence("test it once more after a reboot"), "berth doctor --gpu-test"}};
    findings.push_back(std::move(finding));
  });
}

Findings gpu_test_failed(const Examined& host) {
  return each_step(host, [](const TestedGpu& gpu, const ProofStep& step, Findings& findings) {
    if (step.end != ProofEnd::failed && step.end != ProofEnd::unfinished) return;
    const bool hung = step.end == ProofEnd::unfinished;
    Finding finding = finding_of(gpu, step);
    finding.rule = hung ? "gpu_test_unfinished" : "gpu_test_failed";
    finding.severity = Severity::error;
    finding.title = hung ? sentence("GPU {} does not come back from its test", gpu.name)
                         : sentence("GPU {} refuses its test", gpu.name);
    finding.meaning = sentence("A program of yours would meet the same.");
    finding.steps = {{sentence("see what the driver wrote about it"), "berth health"}};
    findings.push_back(std::move(finding));
  });
}

Findings gpu_slow(const Examined& host) {
  return each_step(host, [](const TestedGpu& gpu, const ProofStep& step, Findings& findings) {
    const auto best = best_rate(step.what, gpu.device);
    if (!best || !step.per_second || *step.per_second >= least_share(step.what) * *best) return;
    Finding finding{
        .rule = "gpu_slow",
        .severity = Severity::warning,
        .title = sentence("GPU {} is slow", gpu.name),
        .evidence = {sentence("GPU {}, {}: {}, {} % of the {} that it could be at best", gpu.name,
                              words_of(step).english(), rate_text(step.what, *step.per_second),
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
