#pragma once
// Why did a run die? Rules over a finished record and whatever else is known of the time: its
// events, its detached log, the kernel's log. Each rule is a file of rules/; one that has nothing
// to say says nothing, and of a run that ended well there is nothing to say at all.

#include <optional>
#include <span>
#include <string_view>

#include "diagnose/death/evidence.h"
#include "diagnose/finding.h"

namespace berth {

/// The surest first; empty: it ended well, or nothing is known.
[[nodiscard]] Findings explain_death(const DeathEvidence& evidence);

/// The one that is worth a line when the job has just ended: a cause that the line about its end
/// does not tell already. Nothing: there is none.
[[nodiscard]] std::optional<Finding> cause_to_tell(const Findings& findings);

/// Every name that a cause can have, those of the catalogue of error texts and of the driver's
/// errors ("xid_…") left out. Each stands in doc/EXPLAIN.md.
[[nodiscard]] std::span<const std::string_view> death_rule_names();

}  // namespace berth
