#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings preload_missing(const Examined& host) {
  if (!host.world.libraries || host.world.libraries->preload_missing.empty()) return {};
  std::vector<Sentence> evidence;
  for (const std::string& path : host.world.libraries->preload_missing) {
    evidence.push_back(sentence("LD_PRELOAD names {}, and there is no such file", path));
  }
  return {{.rule = "preload_missing",
           .severity = Severity::hint,
           .title = sentence("LD_PRELOAD names a file that is not there"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("Every program says so when it starts, and what was to be loaded is not."),
           .steps = {{sentence("leave it out"), "unset LD_PRELOAD"}}}};
}

}  // namespace berth::doctor
