#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings wheels_of_two_majors(const Examined& host) {
  if (!host.world.python) return {};
  const auto& packages = host.world.python->packages;
  std::vector<Sentence> evidence;
  for (const auto& [name, version] : packages) {
    // nvidia_cudnn_cu12 and nvidia_cudnn_cu13 both write to nvidia/cudnn.
    const bool is_older = name.ends_with("_cu11") || name.ends_with("_cu12");
    if (!name.starts_with("nvidia_") || !is_older) continue;
    const std::string other = name.substr(0, name.size() - 1) + (name.back() == '1' ? "2" : "3");
    for (const auto& [second, second_version] : packages) {
      if (second != other) continue;
      evidence.push_back(sentence("{} {} and {} {} lie in the same folder", name, version, second,
                                  second_version));
    }
  }
  if (evidence.empty()) return {};
  return {{.rule = "wheels_of_two_majors",
           .severity = Severity::warning,
           .title = sentence("CUDA libraries of two generations in one environment"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("What was installed last has overwritten the other: symbols are missing, "
                        "or cuDNN does not initialise."),
           .steps = {{sentence("a fresh environment is quicker than sorting them out"),
                      "python -m venv ~/fresh"}}}};
}

}  // namespace berth::doctor
