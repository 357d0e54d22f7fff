#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/tested_gpu.h"

namespace berth::doctor {

namespace {

using compute::ProofEnd;
using compute::ProofStep;

}  // namespace

Findings gpu_test_failed(const Examined& host) {
  return each_step(host, [](const TestedGpu& gpu, const ProofStep& step, Findings& findings) {
    if (step.end != ProofEnd::failed && step.end != ProofEnd::unfinished) return;
    const bool hung = step.end == ProofEnd::unfinished;
    Finding finding = step_finding(gpu, step);
    finding.rule = hung ? "gpu_test_unfinished" : "gpu_test_failed";
    finding.severity = Severity::error;
    finding.title = hung ? sentence("GPU {} does not come back from its test", gpu.name)
                         : sentence("GPU {} refuses its test", gpu.name);
    finding.meaning = sentence("A program of yours would meet the same.");
    finding.steps = {{sentence("see what the driver wrote about it"), "berth health"}};
    findings.push_back(std::move(finding));
  });
}

}  // namespace berth::doctor
