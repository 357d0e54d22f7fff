#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings governor_powersave(const Examined& host) {
  if (!host.world.limits) return {};
  const auto& governor = host.world.limits->governor.get();
  const auto& driver = host.world.limits->frequency_driver.get();
  // intel_pstate and amd_pstate choose speeds themselves: their "powersave" is the normal one.
  if (!governor || *governor != "powersave" || !driver ||
      driver->find("pstate") != std::string::npos) {
    return {};
  }
  return {
      {.rule = "governor_powersave",
       .severity = Severity::hint,
       .title = sentence("the CPUs are kept at their lowest speed"),
       .evidence = {sentence("governor {} of driver {}", *governor, *driver)},
       .meaning =
           sentence("With this driver it never goes faster; preparing data takes twice as long "
                    "and more."),
       .steps = {{sentence("let them go faster"), "sudo cpupower frequency-set -g schedutil"}}}};
}

}  // namespace berth::doctor
