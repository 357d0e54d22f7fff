#include <algorithm>

#include "diagnose/doctor/framework_words.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

namespace {

bool is_cpu_build(const FrameworkBuild& build) {
  return !build.is_rocm && build.cuda.get() && !build.cuda.get()->has_value();
}

}  // namespace

Findings framework_cpu_only(const Examined& host) {
  if (!host.world.python || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const bool another_has_cuda = std::ranges::any_of(python.frameworks, [](const auto& build) {
    return build.cuda.get() && build.cuda.get()->has_value();
  });
  Findings findings;
  for (const FrameworkBuild& build : python.frameworks) {
    if (!is_cpu_build(build) && !build.is_rocm) continue;
    Finding finding{
        .rule = build.name + "_cpu_only",
        .severity = another_has_cuda ? Severity::hint : Severity::error,
        .title = sentence("this {} cannot use the GPU: it was built without CUDA", build.name),
        .evidence = {sentence("{} {}: {} names no CUDA", build.name, build.version,
                              build.cuda_source)},
        .meaning = sentence("{} finds nothing although nvidia-smi works; everything runs on the "
                            "CPU.",
                            question_of(build.name)),
        .steps = steps_to_replace(host, build, Wanted::cuda)};
    if (build.is_rocm) {
      finding.title = sentence("this {} cannot use the GPU: it was built for AMD's", build.name);
    }
    if (const FrameworkSaid* said = python.said_of(build.name); said && said->sees_gpu) {
      finding.evidence.push_back(
          sentence("asked in a process of its own it says {}", *said->sees_gpu ? "True" : "False"));
    }
    if (python.index_url.find("/whl/cpu") != std::string::npos) {
      finding.evidence.push_back(
          sentence("{} names an index that has builds without CUDA alone", python.index_source));
    }
    if (finding.steps.empty()) {
      finding.steps.push_back({sentence("no official build fits this driver, card and Python "
                                        "together: have the driver updated, or use another Python"),
                               ""});
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace berth::doctor
