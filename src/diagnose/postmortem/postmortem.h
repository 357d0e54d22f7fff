#pragma once
// Why did a run die? Rules over a finished record and whatever else is known of the time: its
// events, its detached log, the kernel's log. A rule that has nothing to
// say says nothing, and of a run that ended well there is nothing to say at all.

#include <optional>

#include "diagnose/postmortem/evidence.h"
#include "snapshot/finding.h"

namespace berth {

/// The surest first; empty: it ended well, or nothing is known.
[[nodiscard]] Findings explain_postmortem(const PostmortemEvidence& evidence);

/// The one that is worth a line when the job has just ended: a cause that the line about its end
/// does not tell already. Nothing: there is none.
[[nodiscard]] std::optional<Finding> cause_to_tell(const Findings& findings);

}  // namespace berth
