#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings mig_mode_pending(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    const auto& now = device->mig_mode.get();
    const auto later = device->details.get<bool>(Detail::mig_mode_pending);
    if (!now || !later.get() || *now == *later.get()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_mode_pending",
         .severity = Severity::warning,
         .title = *now ? sentence("GPU {} is to leave MIG and has not done so", index)
                       : sentence("GPU {} is to be divided by MIG and is not yet", index),
         .evidence = {*now ? sentence("MIG mode is on now, and off after the next reset")
                           : sentence("MIG mode is off now, and on after the next reset")},
         .meaning = sentence("The mode changes when the card is reset, which waits until no "
                             "program has it open, not even a monitor or the display."),
         .steps = {{sentence("with every program off it, reset it; where that is refused, reboot"),
                    "sudo nvidia-smi --gpu-reset -i " + index},
                   {sentence("or take the change back"),
                    "sudo nvidia-smi -i " + index + " -mig " + (*now ? "1" : "0")}}});
  }
  return findings;
}

}  // namespace berth::doctor
