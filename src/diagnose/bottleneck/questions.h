#pragma once
// What several rules ask of the features.

#include "diagnose/bottleneck/bottleneck.h"

namespace berth::bottleneck {

/// No kernel ran for a good part of the time.
[[nodiscard]] bool gpu_waits(const Seen& seen);
/// Kernels hardly ever ran.
[[nodiscard]] bool gpu_is_still(const Seen& seen);
/// Kernels ran for most of the time.
[[nodiscard]] bool gpu_runs(const Seen& seen);
/// A thread of the main process has work in nearly all of the time in which no kernel runs.
[[nodiscard]] bool main_is_saturated(const Seen& seen);
/// The process on the devices that does most; null: none is.
[[nodiscard]] const ProcessLoad* main_process(const Seen& seen);

}  // namespace berth::bottleneck
