#include "diagnose/doctor/tested_gpu.h"

#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/questions.h"

namespace berth::doctor {

std::vector<TestedGpu> tested_gpus(const Examined& host) {
  std::vector<TestedGpu> all;
  for (const GpuProof& test : host.gpu_proofs) {
    const Device* device = find_device(test.device, host.snapshot);
    if (device == nullptr) continue;
    all.push_back(
        {test, *device, device->index ? std::to_string(*device->index) : device->id.text()});
  }
  return all;
}

Findings each_step(const Examined& host, const StepJudge& judge) {
  Findings findings;
  for (const TestedGpu& gpu : tested_gpus(host)) {
    for (const compute::ProofStep& step : gpu.test.steps) judge(gpu, step, findings);
  }
  return findings;
}

Finding step_finding(const TestedGpu& gpu, const compute::ProofStep& step) {
  return {.evidence = {sentence("GPU {}, {}: {}", gpu.name, words_of(step), step.detail)}};
}

}  // namespace berth::doctor
