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
    Finding finding = step_finding(gpu, step);
    finding.rule = is_cpu       ? "cpu_computes_wrong"
                   : is_product ? "gpu_computes_wrong"
                                : "gpu_copies_wrong";
    finding.severity = Severity::error;
    finding.title = is_cpu ? sentence("this machine's CPU computes wrong results")
                    : is_product
                        ? sentence("GPU {} computes wrong results", gpu.name)
                        : sentence("what is copied to or from GPU {} is changed", gpu.name);
    finding.meaning =
        is_cpu       ? sentence("Nothing that this machine computes can be trusted.")
        : is_product ? sentence(
                           "Whole numbers that single precision holds exactly came out "
                           "different: a training run on it diverges without an error.")
                     : sentence(
                           "What a program finds on the card is not what it sent there: memory, "
                           "link or bus change it, and no error says so.");
    finding.steps = {
        is_cpu ? Finding::Step{sentence("take the machine out of use, look at what the "
                                        "kernel says of its processor and memory"),
                               "sudo dmesg | grep -iE 'mce|hardware error|edac'"}
               : Finding::Step{sentence("take it out of use, look at its errors"), "berth health"},
        {sentence("test it once more after a reboot"), "berth doctor --gpu-test"}};
    findings.push_back(std::move(finding));
  });
}

}  // namespace berth::doctor
