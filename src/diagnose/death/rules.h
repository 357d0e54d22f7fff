#pragma once
// The causes of death: each is a function in the file of rules/ that has its name, with its test
// beside it. The name is that of what it finds; where that can be several things, of the question.
// A guess at the same cause (perhaps_…) stands in the cause's file. The order in which death.cc
// asks is the order in which they are told.

#include "diagnose/death/evidence.h"
#include "diagnose/finding.h"

namespace berth {

// berth itself ended it.
[[nodiscard]] Findings ended_by_berth(const DeathEvidence& evidence);

// What it stood on failed, by the run's events or the kernel's log.
[[nodiscard]] Findings device_fault(const DeathEvidence& evidence);
[[nodiscard]] Findings device_reset(const DeathEvidence& evidence);
[[nodiscard]] Findings driver_reloaded(const DeathEvidence& evidence);
[[nodiscard]] Findings oom_killer(const DeathEvidence& evidence);

// What its output says, and others who were there.
[[nodiscard]] Findings known_error_text(const DeathEvidence& evidence);
[[nodiscard]] Findings neighbour_grew(const DeathEvidence& evidence);
[[nodiscard]] Findings perhaps_neighbour_grew(const DeathEvidence& evidence);
[[nodiscard]] Findings rank_ended_first(const DeathEvidence& evidence);

// What is left where nothing says why.
[[nodiscard]] Findings ended_by_signal(const DeathEvidence& evidence);
[[nodiscard]] Findings end_unknown(const DeathEvidence& evidence);
[[nodiscard]] Findings last_lines(const DeathEvidence& evidence);

}  // namespace berth
