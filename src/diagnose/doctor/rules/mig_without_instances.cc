#include "diagnose/doctor/hollow_instances.h"
#include "diagnose/doctor/rules.h"
#include "snapshot/questions.h"

namespace berth::doctor {

Findings mig_without_instances(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    if (division_of(*device) != Division::divided) continue;
    bool has_instance = false;
    for (const Device& other : host.snapshot.devices) {
      has_instance = has_instance || (other.parent && *other.parent == device->id);
    }
    // An instance without its inner half is told by mig_instance_hollow.
    if (has_instance || !hollow_instances_of(*device, host).empty()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_without_instances",
         .severity = Severity::warning,
         .title = sentence("MIG is on for GPU {} and it has no instance", index),
         .evidence = {sentence("MIG mode is enabled and no instance is listed")},
         .meaning = sentence("A divided card gives programs its instances alone: without any, CUDA "
                             "leaves the card out."),
         .steps = {{sentence("make instances, for example one that is the whole card"),
                    "sudo nvidia-smi mig -i " + index + " -cgi 0 -C"},
                   {sentence("or give up MIG there (with every program off it)"),
                    "sudo nvidia-smi -i " + index + " -mig 0"}}});
  }
  return findings;
}

}  // namespace berth::doctor
