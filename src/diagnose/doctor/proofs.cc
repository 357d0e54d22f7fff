// What --gpu-test found: devices that compute wrongly, refuse, hang or are slow.

#include <fmt/format.h>

#include "diagnose/doctor/gpu_speed.h"
#include "diagnose/doctor/rules.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

struct Tested {
  const GpuProof& test;
  const Device& device;
  std::string name;  // its index, else its id
};

std::vector<Tested> tested(const Examined& host) {
  std::vector<Tested> all;
  for (const GpuProof& test : host.gpu_proofs) {
    const Device* device = find_device(test.device, host.snapshot);
    if (device == nullptr) continue;
    all.push_back(
        {test, *device, device->index ? std::to_string(*device->index) : device->id.text()});
  }
  return all;
}

Finding of_step(const Tested& gpu, const ProofStep& step) {
  return {
      .evidence = {sentence("GPU {}, {}: {}", gpu.name, words_of(step).english(), step.detail)}};
}

template <class Judge>
Findings each_step(const Examined& host, const Judge& judge) {
  Findings findings;
  for (const Tested& gpu : tested(host)) {
    for (const ProofStep& step : gpu.test.steps) judge(gpu, step, findings);
  }
  return findings;
}

}  // namespace

Findings gpu_wrong(const Examined& host) {
  return each_step(host, [](const Tested& gpu, const ProofStep& step, Findings& findings) {
    if (step.end != ProofEnd::wrong) return;
    const bool is_product = step.what == ProofOf::multiply;
    const bool is_cpu = step.what == ProofOf::multiply_cpu;
    Finding finding = of_step(gpu, step);
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
  return each_step(host, [](const Tested& gpu, const ProofStep& step, Findings& findings) {
    if (step.end != ProofEnd::failed && step.end != ProofEnd::unfinished) return;
    const bool hung = step.end == ProofEnd::unfinished;
    Finding finding = of_step(gpu, step);
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
  return each_step(host, [](const Tested& gpu, const ProofStep& step, Findings& findings) {
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
  for (const Tested& gpu : tested(host)) {
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
