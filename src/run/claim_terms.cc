#include "run/claim_terms.h"

namespace berth {

void set_claim_terms(const Manifest& manifest, const JobSpec& job, AcquireOptions& options,
                     const std::string& proc) {
  options.run = manifest.id;
  options.command = command_for_others(manifest.command, proc);
  options.priority = job.priority;
  if (manifest.cap) options.held_by = manifest.cap->tier;
}

LeaseTerms lease_terms(const AcquireOptions& options, const Placement& placement) {
  LeaseTerms terms{.run = options.run,
                   .command = options.command,
                   .held_by = options.held_by,
                   .time_limit = options.time_limit,
                   .isolated_by = options.isolated_by};
  for (const Choice& choice : placement.chosen) {
    terms.devices.push_back({choice.device, choice.promised});
  }
  return terms;
}

}  // namespace berth
