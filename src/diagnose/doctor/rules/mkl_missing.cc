#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings mkl_missing(const Examined& host) {
  if (!host.world.python || !host.world.limits) return {};
  const auto& vendor = host.world.limits->cpu_vendor.get();
  if (!vendor || *vendor != "GenuineIntel") return {};
  const FrameworkSaid* said = host.world.python->said_of("torch");
  // Who computes on a GPU does not wait for the CPU's products.
  if (said == nullptr || said->has_mkl.value_or(true) || said->sees_gpu.value_or(false)) return {};
  return {{.rule = "mkl_missing",
           .severity = Severity::hint,
           .title = sentence("this torch computes on the CPU without MKL"),
           .evidence = {sentence("torch {} says so, and the CPU is Intel's", said->version)},
           .meaning = sentence("Official builds have Intel's library for matrices and Fourier "
                               "transforms; others do the same, some of it more slowly."),
           .steps = {{sentence("if it computes on the CPU for long: compare with an official "
                               "build"),
                      ""}},
           .doubt = sentence("OpenBLAS, where it is built well, comes close")}};
}

}  // namespace berth::doctor
