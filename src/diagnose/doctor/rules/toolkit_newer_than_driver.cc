#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings toolkit_newer_than_driver(const Examined& host) {
  const auto& libraries = host.world.libraries;
  const auto& driver = host.snapshot.host.driver_version.get();
  if (!libraries || !libraries->nvcc_version || !driver || !driver_works(host)) return {};
  const auto needs = driver_needs(*libraries->nvcc_version);
  if (!needs || !is_older_version(*driver, needs->runs)) return {};
  return {
      {.rule = "toolkit_newer_than_driver",
       .severity = Severity::warning,
       .title = sentence("what nvcc compiles does not run with this driver"),
       .evidence = {sentence("{} is of CUDA {}", libraries->nvcc, libraries->nvcc_version->text()),
                    sentence("the driver is {}; CUDA {} runs from {} on (its toolkit came with {})",
                             *driver, libraries->nvcc_version->text(), needs->runs, needs->own)},
       .meaning = sentence("Frameworks bring their own CUDA and do not mind; extensions and "
                           "programs compiled here do."),
       .steps = {
           {sentence("put an older toolkit first in PATH, or have the driver updated"), ""}}}};
}

}  // namespace berth::doctor
