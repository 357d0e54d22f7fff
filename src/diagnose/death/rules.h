#pragma once
// The causes of death: each file of rules/ finds one, is named by it and has its test beside it.
// The order in which death.cc asks is the order in which they are told.

#include "diagnose/death/evidence.h"
#include "diagnose/finding.h"

namespace berth {

// berth itself ended it.
[[nodiscard]] Findings death_by_berth(const DeathEvidence& evidence);

// What it stood on failed, by the run's events or the kernel's log.
[[nodiscard]] Findings death_by_device(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_device_reset(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_driver_reload(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_oom_killer(const DeathEvidence& evidence);

// What its output says, and others who were there.
[[nodiscard]] Findings death_by_log(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_neighbour(const DeathEvidence& evidence);
[[nodiscard]] Findings death_perhaps_by_neighbour(const DeathEvidence& evidence);
[[nodiscard]] Findings death_by_sibling_rank(const DeathEvidence& evidence);

// What is left where nothing says why.
[[nodiscard]] Findings death_by_signal(const DeathEvidence& evidence);
[[nodiscard]] Findings death_without_record(const DeathEvidence& evidence);
[[nodiscard]] Findings death_without_cause(const DeathEvidence& evidence);

}  // namespace berth
