#pragma once
// A run under way that has no record, as its state directory was full or could not be written. Its
// lease identifies it, and its name in its processes' environment. Both die with the job.

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

/// A lease's facts about its run, as a record without a directory. Only stop_run() and
/// wait_for_run() take it.
[[nodiscard]] RunRecord run_of_claim(const Claim& claim);

/// A run that its user watches goes on. A run that nobody would see is not begun, but one that is
/// started again goes on. Returns the path of its marks; an error: it must not be started.
[[nodiscard]] Result<std::string> go_without_record(
    const RunOptions& options, Manifest& manifest, const Error& why, bool is_container,
    const std::function<void(const RunNews&)>& tell);

/// What is known of a run that ended, and whose record cannot be read.
[[nodiscard]] RunRecord known_of(const Manifest& manifest, const Exit& exit,
                                 const std::string& because, Duration lasted);

/// The caller's own run under way of this name. `claims` find it by its id, or by the unique
/// beginning or end of one. The processes that carry the id find it by the whole id alone.
/// not_found: there is none. invalid: several.
[[nodiscard]] Result<RunRecord> unrecorded_run(std::string_view name,
                                               const std::vector<Claim>& claims,
                                               const std::string& proc = "/proc");

}  // namespace berth
