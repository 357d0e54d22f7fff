#include <fmt/format.h>

#include <algorithm>

#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

Findings tensorflow_libraries_missing(const Examined& host) {
  if (!host.world.python || !host.world.libraries || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || python.is_conda) return {};
  const std::optional<TwoPart> cuda = build->cuda.get().value_or(std::nullopt);
  if (!cuda) return {};
  const bool in_wheels = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const bool on_system =
      std::ranges::find(host.world.libraries->found, "libcudnn", &FoundLibrary::name) !=
      host.world.libraries->found.end();
  const FrameworkSaid* said = python.said_of("tensorflow");
  if (in_wheels || on_system || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  return {{.rule = "tensorflow_libraries_missing",
           .severity = Severity::error,
           .title = sentence("TensorFlow is built for CUDA and finds none of its libraries"),
           .evidence = {sentence("there is neither a package {} nor a {} where the loader looks",
                                 fmt::format("nvidia-cudnn-cu{}", cuda->major), "libcudnn.so")},
           .meaning =
               sentence("It says \"Cannot dlopen some GPU libraries\" and goes on with the CPU."),
           .steps = steps_to_replace(host, *build, Wanted::cuda)}};
}

}  // namespace berth::doctor
