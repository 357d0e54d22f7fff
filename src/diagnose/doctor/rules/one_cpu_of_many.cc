#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings one_cpu_of_many(const Examined& host) {
  if (!host.world.limits) return {};
  const auto& allowed = host.world.limits->cpus_allowed.get();
  const auto& online = host.world.limits->cpus_online.get();
  if (!online || !allowed || *allowed != 1 || *online < 4) return {};
  return {{.rule = "one_cpu_of_many",
           .severity = Severity::warning,
           .title = sentence("this process may run on one CPU alone"),
           .evidence = {sentence("its affinity allows 1 of {} CPUs", *online)},
           .meaning = sentence("Data loaders started from here share that CPU, and the GPU waits."),
           .steps = {
               {sentence("see who set it (taskset, a scheduler, a library)"), "taskset -cp $$"}}}};
}

}  // namespace berth::doctor
