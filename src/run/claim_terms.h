#pragma once
// What a claim says of its run: who it is, what is asked for it, what holds its share. `berth run`,
// `berth claim` and libberth's leases all say it here.

#include <string>

#include "place/job_spec.h"
#include "record/run_record.h"
#include "run/acquire.h"

namespace berth {

/// What the ticket and the lease are to say. It leaves out how long the run may take and what
/// closes other cards to it: only a job that berth starts is held to those.
void set_claim_terms(const Manifest& manifest, const JobSpec& job, AcquireOptions& options,
                     const std::string& proc = "/proc");

/// What the lease of the chosen devices says.
[[nodiscard]] LeaseTerms lease_terms(const AcquireOptions& options, const Placement& placement);

}  // namespace berth
