#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// "11" of nvidia_cudnn_cu11; empty: no such package.
std::string_view generation_of(std::string_view name) {
  const std::size_t at = name.rfind("_cu");
  if (!name.starts_with("nvidia_") || at == std::string_view::npos) return {};
  const std::string_view digits = name.substr(at + 3);
  return digits.size() == 2 && parse_unsigned(digits) ? digits : std::string_view{};
}

std::string_view without(std::string_view name, std::string_view generation) {
  return name.substr(0, name.size() - generation.size());
}

}  // namespace

Findings wheels_of_two_majors(const Examined& host) {
  if (!host.world.python) return {};
  const auto& packages = host.world.python->packages;
  std::vector<Sentence> evidence;
  for (const auto& [name, version] : packages) {
    // nvidia_cudnn_cu12 and nvidia_cudnn_cu13 both write to nvidia/cudnn.
    const std::string_view of = generation_of(name);
    if (of.empty()) continue;
    for (const auto& [second, second_version] : packages) {
      const std::string_view other = generation_of(second);
      if (other <= of || without(second, other) != without(name, of)) continue;
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
