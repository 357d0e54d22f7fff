#pragma once
// What a run's manifest says before there is a sampler, and its claim with it: who asked for what,
// and what was given.

#include <string>

#include "place/job_spec.h"
#include "record/run_record.h"
#include "run/run.h"

namespace berth {

[[nodiscard]] Manifest begin_manifest(const RunOptions& options, const RunServices& services);
/// What the ticket and the lease are to say: of `berth run`, `berth claim` and libberth alike. It
/// leaves out how long the run may take and what closes other cards to it: only a job that berth
/// starts is held to those.
void set_claim_terms(const Manifest& manifest, const JobSpec& job, AcquireOptions& options,
                     const std::string& proc = "/proc");
/// The devices, and the look that they were chosen on.
void note_given(const Acquired& got, Manifest& manifest);

/// The moment of its start, and where its output is kept.
void note_when_and_where(const RunOptions& options, Clock& clock, Manifest& manifest);

/// What `berth extend` has made of its time limit; nothing: it left it as it was.
[[nodiscard]] std::optional<std::int64_t> extended_limit(const Lease* lease,
                                                         const Manifest& manifest);

/// What its start is told with.
void note_start(const Manifest& manifest, RunStarted& started);

}  // namespace berth
