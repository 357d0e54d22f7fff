#include <algorithm>

#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings driver_silent(const Examined& host) {
  const Problem* problem = nvml_problem(host);
  if (problem == nullptr || problem->code == "version_mismatch" || driver_works(host)) return {};
  const auto& kernel = host.world.kernel;
  // A machine without any card is well without the library.
  const bool has_card = std::ranges::any_of(host.snapshot.devices, [](const Device& device) {
    return device.kind == DeviceKind::nvidia_gpu && device.kernel_driver.get() &&
           *device.kernel_driver.get() == "nvidia";
  });
  if (!has_card && !(kernel && kernel->module_version.get())) return {};
  return {
      {.rule = "driver_silent",
       .severity = Severity::error,
       .title = sentence("the driver is loaded and its library does not answer"),
       .evidence = {Sentence(problem->message, {})},
       .meaning = sentence("Programs that ask for a GPU fail or hang in the same place."),
       .steps = {{Sentence(problem->remedy.empty() ? "read the kernel log" : problem->remedy, {}),
                  "sudo dmesg | grep -iE 'nvrm|xid' | tail"}}}};
}

}  // namespace berth::doctor
