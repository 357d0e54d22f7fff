#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings cuda_home_missing(const Examined& host) {
  const auto& libraries = host.world.libraries;
  if (!libraries || !libraries->home || libraries->home->is_there) return {};
  const CudaHome& home = *libraries->home;
  return {{.rule = "cuda_home_missing",
           .severity = Severity::hint,
           .title = sentence("{} names a folder that is not there", home.variable),
           .evidence = {sentence("{} is {}", home.variable, home.folder)},
           .meaning = sentence("Building an extension stops because no nvcc is found there; "
                               "programs that are built do not mind."),
           .steps = {
               {sentence("unset it, or name a toolkit that is there"), "unset " + home.variable}}}};
}

}  // namespace berth::doctor
