#pragma once
// `berth explain` for what runs now, and for a run that ended well: wiring only.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/context.h"
#include "app/pace_target.h"
#include "record/run_record.h"

namespace berth {

struct ExplainPaceWish {
  std::chrono::milliseconds length{10'000};
  std::string save;  // empty: nowhere
  bool json = false;
};

/// What explain exits with where it could not look.
constexpr int pace_could_not_look = 3;

/// Watches, answers on stdout. The exit code is by the worst finding: 0 none or hints, 1 warnings.
[[nodiscard]] int explain_targets(Context& context, const std::vector<PaceTarget>& targets,
                                  const ExplainPaceWish& wish);
/// A saved series; "-" is stdin.
[[nodiscard]] int explain_series(Context& context, const std::string& path,
                                 const ExplainPaceWish& wish);
/// A run's record.
[[nodiscard]] int explain_run_pace(Context& context, const RunRecord& run,
                                   const ExplainPaceWish& wish);

}  // namespace berth
