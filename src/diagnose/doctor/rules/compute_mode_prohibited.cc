#include "diagnose/doctor/rules.h"
#include "snapshot/questions.h"

namespace berth::doctor {

Findings compute_mode_prohibited(const Examined& host) {
  std::vector<const Device*> prohibited;
  for (const Device* device : working_gpus(host)) {
    if (is_prohibited(*device)) prohibited.push_back(device);
  }
  if (prohibited.empty()) return {};
  return {{.rule = "compute_mode_prohibited",
           .severity = Severity::warning,
           .title = sentence("computing is forbidden on GPU {}", names_of(prohibited)),
           .evidence = {sentence("its compute mode is {}", "Prohibited")},
           .meaning = sentence("Its administrator lets no program compute there."),
           .steps = {{sentence("if that is no longer meant"),
                      "sudo nvidia-smi -i " + index_list(prohibited) + " -c 0"}}}};
}

}  // namespace berth::doctor
