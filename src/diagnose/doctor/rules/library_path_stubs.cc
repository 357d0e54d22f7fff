#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings library_path_stubs(const Examined& host) {
  if (!host.world.libraries) return {};
  Findings findings;
  for (const FoundLibrary& library : host.world.libraries->found) {
    if (library.via != "LD_LIBRARY_PATH" || !is_of_driver(library)) continue;
    if (library.path.find("/stubs") == std::string::npos) continue;
    findings.push_back(
        {.rule = "library_path_stubs",
         .severity = Severity::error,
         .title = sentence("a stub stands in the driver's place"),
         .evidence = {sentence("LD_LIBRARY_PATH leads to {}", library.path)},
         .meaning = sentence("Stubs are for compiling on machines without a driver; a program that "
                             "loads one fails with \"CUDA driver is a stub library\" (34)."),
         .steps = {{sentence("take that folder out of it"), "echo $LD_LIBRARY_PATH"}}});
  }
  return findings;
}

}  // namespace berth::doctor
