#pragma once
// The ranks of a run that goes on, as they stand now: for `berth explain` and `berth stop
// --stacks`.

#include <optional>

#include "app/context.h"
#include "record/run_record.h"
#include "snapshot/finding.h"

namespace berth {

/// Which rank the others wait for. It is watched for two seconds where it goes on. Nothing: it has
/// no ranks, or that cannot be told.
[[nodiscard]] std::optional<Finding> explain_ranks(Context& context, const RunRecord& run);

/// Where each process of the run stands. py-spy tells it, where it is installed. Else /proc tells
/// it, and then Python's own faulthandler, in processes that have it. That ends them: its lines are
/// in their output.
void show_stacks(Context& context, const RunRecord& run);

}  // namespace berth
