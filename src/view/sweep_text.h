#pragma once
// A sweep while it goes on, and its table at the end.

#include <string>
#include <vector>

#include "run/sweep.h"
#include "view/style.h"

namespace berth {

/// "[#####.....] 5 of 10 ended (1 badly), 2 run, 1 waits"
[[nodiscard]] std::string progress_line(const SweepCount& count, const Style& style);
[[nodiscard]] std::string render_sweep(const std::vector<SweepParameter>& parameters,
                                       const std::vector<SweepRow>& rows, const Moment& now,
                                       const Style& style);
[[nodiscard]] std::string sweep_csv(const std::vector<SweepParameter>& parameters,
                                    const std::vector<SweepRow>& rows, const Moment& now);

}  // namespace berth
