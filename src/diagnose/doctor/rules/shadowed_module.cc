#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings shadowed_module(const Examined& host) {
  Findings findings;
  for (const std::string& name : host.world.shadowing) {
    findings.push_back(
        {.rule = "shadowed_module",
         .severity = Severity::warning,
         .title = sentence("{} in the working directory hides the package of that name", name),
         .evidence = {sentence("there is {} in {}", name,
                               host.world.directory ? host.world.directory->path : ".")},
         .meaning =
             sentence("Python looks beside the program first: `import` then brings that file, "
                      "and what the framework has is \"not defined\"."),
         .steps = {{sentence("give the file another name"), "mv " + name + " my_" + name}}});
  }
  return findings;
}

}  // namespace berth::doctor
