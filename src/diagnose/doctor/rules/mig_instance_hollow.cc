#include "diagnose/doctor/hollow_instances.h"
#include "diagnose/doctor/rules.h"
#include "snapshot/questions.h"

namespace berth::doctor {

Findings mig_instance_hollow(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    if (division_of(*device) != Division::divided) continue;
    const std::string numbers = hollow_instances_of(*device, host);
    if (numbers.empty()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_instance_hollow",
         .severity = Severity::warning,
         .title = sentence("GPU {} has an instance that nothing can compute on", index),
         .evidence = {sentence("GPU instance {} holds no compute instance", numbers)},
         .meaning = sentence("CUDA's devices are compute instances: this part of the card is "
                             "reserved and no program sees it."),
         .steps = {{sentence("make a compute instance in it"),
                    "sudo nvidia-smi mig -i " + index + " -gi " + numbers + " -cci"},
                   {sentence("or give its part of the card back"),
                    "sudo nvidia-smi mig -i " + index + " -gi " + numbers + " -dgi"}}});
  }
  return findings;
}

}  // namespace berth::doctor
