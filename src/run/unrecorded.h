#pragma once
// A run under way that has no record (its state directory was full, or could not be written): it is
// known by its lease, and by its name in its processes' environment. Both die with the job.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "record/run_record.h"
#include "run/run.h"
#include "snapshot/claim.h"

namespace berth {

/// What a lease says of its run, as a record without a directory: stop_run() and wait_for_run()
/// take it, nothing else does.
[[nodiscard]] RunRecord run_of_claim(const Claim& claim);

/// What is in front of somebody goes on. What nobody would see is not begun; one that is started
/// again has been. The path of its marks; an error: it is not to be started.
[[nodiscard]] Result<std::string> go_without_record(
    const RunOptions& options, Manifest& manifest, const Error& why, bool is_container,
    const std::function<void(const RunNews&)>& tell);

/// What is known of a run that ended, and whose record cannot be read.
[[nodiscard]] RunRecord known_of(const Manifest& manifest, const Exit& exit,
                                 const std::string& because, Duration lasted);

/// The caller's own run under way of this name: by `claims` the id, or the unique beginning or end
/// of one; by the processes that carry it the whole id. not_found: there is none. invalid: several.
[[nodiscard]] Result<RunRecord> unrecorded_run(std::string_view name,
                                               const std::vector<Claim>& claims,
                                               const std::string& proc = "/proc");

}  // namespace berth
