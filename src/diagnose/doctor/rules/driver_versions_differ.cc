#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings driver_versions_differ(const Examined& host) {
  const Problem* problem = nvml_problem(host);
  if (problem == nullptr || problem->code != "version_mismatch") return {};
  Finding finding{
      .rule = "driver_versions_differ",
      .severity = Severity::error,
      .title = sentence("the driver's library and its kernel module are of different versions"),
      .evidence = {Sentence(problem->message, {})},
      .meaning = sentence("The driver was updated while the old module stayed loaded; until "
                          "both are the same, nothing can use the GPUs."),
      .steps = {{sentence("reboot; that is the sure way"), "sudo reboot"},
                {sentence("or, with every program off the GPUs, load the new module"),
                 "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo "
                 "modprobe nvidia"}}};
  const auto& kernel = host.world.kernel;
  if (kernel && kernel->module_version.get()) {
    finding.evidence.push_back(sentence("the loaded module is {}", *kernel->module_version.get()));
  }
  if (host.world.libraries) {
    for (const FoundLibrary& library : host.world.libraries->found) {
      if (library.name == "libnvidia-ml" && library.version.find('.') != std::string::npos) {
        finding.evidence.push_back(sentence("the library is {}", library.path));
      }
    }
  }
  return {finding};
}

}  // namespace berth::doctor
