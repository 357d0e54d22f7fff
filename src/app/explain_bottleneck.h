#pragma once
// `berth explain` for what runs now, and for a run that ended well: wiring only.

#include <chrono>
#include <string>
#include <vector>

#include "app/context.h"
#include "diagnose/bottleneck/target.h"
#include "record/run_record.h"

namespace berth {

struct BottleneckOptions {
  std::chrono::milliseconds length{10'000};
  std::string save;  // empty: nowhere
  bool json = false;
  /// It follows on how the run ended: where nothing was seen, nothing is added.
  bool follows_the_end = false;
};

/// Watches, answers on stdout. The exit code is by the worst finding: 0 none or hints, 1 warnings.
[[nodiscard]] int explain_targets(Context& context, const std::vector<bottleneck::Target>& targets,
                                  const BottleneckOptions& options);
/// A saved series; "-" is stdin.
[[nodiscard]] int explain_series(Context& context, const std::string& path,
                                 const BottleneckOptions& options);
/// A run's record.
[[nodiscard]] int explain_run_bottleneck(Context& context, const RunRecord& run,
                                         const BottleneckOptions& options);

}  // namespace berth
