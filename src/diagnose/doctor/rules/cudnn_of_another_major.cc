#include <algorithm>

#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

Findings cudnn_of_another_major(const Examined& host) {
  if (!host.world.python || !host.world.libraries || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || !build->cudnn_major || python.is_conda) return {};
  const bool brings_its_own = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const FrameworkSaid* said = python.said_of("tensorflow");
  if (brings_its_own || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  std::vector<Sentence> evidence;
  for (const FoundLibrary& library : host.world.libraries->found) {
    if (library.name != "libcudnn") continue;
    const auto version = two_part(library.version);
    if (!version || version->major == *build->cudnn_major) return {};
    evidence.push_back(sentence("there is {}", library.path));
  }
  if (evidence.empty()) return {};
  evidence.insert(evidence.begin(),
                  sentence("{} {} was built with cuDNN {} ({})", build->name, build->version,
                           *build->cudnn_major, build->cuda_source));
  return {{.rule = "cudnn_of_another_major",
           .severity = Severity::error,
           .title = sentence("TensorFlow wants another cuDNN than the one that is here"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("It says \"Cannot dlopen some GPU libraries\" and goes on with the CPU."),
           .steps = steps_to_replace(host, *build, Wanted::cuda)}};
}

}  // namespace berth::doctor
