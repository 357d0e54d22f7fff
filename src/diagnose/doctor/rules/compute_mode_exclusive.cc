#include "diagnose/doctor/rules.h"
#include "snapshot/questions.h"

namespace berth::doctor {

Findings compute_mode_exclusive(const Examined& host) {
  std::vector<const Device*> taken;
  for (const Device* device : working_gpus(host)) {
    const auto& mode = device->compute_mode.get();
    const bool one_only = mode && *mode == "Exclusive_Process";
    if (one_only && !processes_on(device->id, host.snapshot).empty()) taken.push_back(device);
  }
  if (taken.empty()) return {};
  return {{.rule = "compute_mode_exclusive",
           .severity = Severity::hint,
           .title = sentence("GPU {} takes one program at a time, and has it", names_of(taken)),
           .evidence = {sentence("its compute mode is {}", "Exclusive_Process")},
           .meaning =
               sentence("A second program there fails with \"all CUDA-capable devices are busy or "
                        "unavailable\" whatever memory is free."),
           .steps = {{sentence("take another one; berth run does so by itself"), "berth pick"}}}};
}

}  // namespace berth::doctor
