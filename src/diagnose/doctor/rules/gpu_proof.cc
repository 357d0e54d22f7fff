// What a test of the devices found, where somebody asked for one (--gpu-test).

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/sentence.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/examined.h"
#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

struct TestedGpu {
  const GpuProof& test;
  const Device& device;
  std::string name;
};

using StepJudge = std::function<void(const TestedGpu&, const ProofStep&, Findings& findings)>;

/// The tested devices that the snapshot still has.
std::vector<TestedGpu> tested_gpus(const Examined& host) {
  std::vector<TestedGpu> all;
  for (const GpuProof& test : host.gpu_proofs) {
    const Device* device = find_device(test.device, host.snapshot);
    if (device == nullptr) continue;
    all.push_back({test, *device, index_or_id(*device)});
  }
  return all;
}

/// What `judge` adds, asked of each step of each of them.
Findings each_step(const Examined& host, const StepJudge& judge) {
  Findings findings;
  for (const TestedGpu& gpu : tested_gpus(host)) {
    for (const ProofStep& step : gpu.test.steps) judge(gpu, step, findings);
  }
  return findings;
}

/// A finding with nothing but its evidence: the device, the step and what it said.
Finding step_finding(const TestedGpu& gpu, const ProofStep& step) {
  return {.evidence = {sentence("GPU {}, {}: {}", gpu.name, words_of(step), step.detail)}};
}

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
    finding.meaning = is_cpu ? sentence("Nothing that this machine computes can be trusted.")
                      : is_product
                          ? sentence(
                                "Whole numbers that single precision holds exactly came out "
                                "different: a training run on it diverges without an error.")
                          : sentence(
                                "What a program finds on the card is not what it sent there. "
                                "Memory, link or bus change it, and no error says so.");
    finding.steps = {
        is_cpu ? Finding::Step{sentence("take the machine out of use, look at what the "
                                        "kernel says of its processor and memory"),
                               "sudo dmesg | grep -iE 'mce|hardware error|edac'"}
               : Finding::Step{sentence("take it out of use, look at its errors"), "berth health"},
        {sentence("test it once more after a reboot"), "berth doctor --gpu-test"}};
    findings.push_back(std::move(finding));
  });
}

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

Findings gpu_not_tested(const Examined& host) {
  Findings findings;
  for (const TestedGpu& gpu : tested_gpus(host)) {
    if (!gpu.test.is_taken) continue;
    findings.push_back(
        {.rule = "gpu_not_tested",
         .severity = Severity::hint,
         .title = sentence("GPU {} was not tested", gpu.name),
         .evidence = {gpu.test.left_out},
         .meaning = sentence("A test would slow down the processes on it."),
         .steps = {{sentence("test it all the same, beside these processes"),
                    fmt::format("berth doctor --gpu-test --force -i {}", gpu.name)}}});
  }
  return findings;
}

}  // namespace

std::span<const DoctorRule> gpu_proof_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = gpu_wrong,
       .reports =
           {{"gpu_computes_wrong", "error",
             "`--gpu-test`: a product of whole numbers is not what it must be, and in which row",
             "take the card out of use"},
            {"gpu_copies_wrong", "error",
             "`--gpu-test`: a word that was copied to, from or within the card arrived changed",
             "the same"},
            {"cpu_computes_wrong", "error", "`--gpu-test`: the same product on the CPU is wrong",
             "nothing of this machine is to be trusted"}}},
      {.find = gpu_test_failed,
       .reports =
           {{"gpu_test_failed", "error",
             "`--gpu-test`: the step, and the driver's error by name and number",
             "what the driver wrote about it"},
            {"gpu_test_unfinished", "error",
             "`--gpu-test`: the step that did not come back within 20 s or took its process along",
             "the same"}}},
      {.find = gpu_slow,
       .reports = {{"gpu_slow", "warning, with a doubt",
                    "`--gpu-test`: less than a tenth of the single-precision rate on paper, or "
                    "half of the memory's bandwidth or of the PCIe link",
                    "`berth health`: throttled? fewer lanes?"}}},
      {.find = gpu_not_tested,
       .reports = {{"gpu_not_tested", "hint", "`--gpu-test`: who has the card", "`--force`"}}},
  };
  return rules;
}

}  // namespace berth::doctor
