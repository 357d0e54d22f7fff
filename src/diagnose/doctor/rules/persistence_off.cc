#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings persistence_off(const Examined& host) {
  std::vector<const Device*> off;
  for (const Device* device : working_gpus(host)) {
    // A display keeps the driver awake all the time.
    if (device->display_active.get().value_or(false)) return {};
    if (device->display_attached.get().value_or(false)) return {};
    const auto& mode = device->persistence_mode.get();
    if (mode && !*mode) off.push_back(device);
  }
  if (off.empty() || is_container(host)) return {};
  return {
      {.rule = "persistence_off",
       .severity = Severity::hint,
       .title = sentence("persistence mode is off"),
       .evidence = {sentence("it is off on GPU {}, and no display keeps the driver awake",
                             names_of(off))},
       .meaning = sentence("Whenever no program has a GPU open, the driver puts it away: the next "
                           "start waits a second or more per card, and limits and clocks that "
                           "somebody set are forgotten."),
       .steps = {{sentence("keep the driver awake, for good"),
                  "sudo systemctl enable --now nvidia-persistenced"},
                 {sentence("or until the next boot"), "sudo nvidia-smi -pm 1"}}}};
}

}  // namespace berth::doctor
