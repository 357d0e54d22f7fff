#pragma once
// What loads for the GPU, and whether the GPU waits for it: two rules tell by the CPUs that are
// left over what would help.

#include <optional>

#include "diagnose/bottleneck/bottleneck.h"

namespace berth::bottleneck {

/// Worker processes, else threads of the main process (tf.data, DALI).
struct Loaders {
  int working = 0;
  int saturated = 0;
  double wanted = 0;  // of one that works, on average
  bool are_threads = false;
};
[[nodiscard]] Loaders loaders_of(const Seen& seen);

/// Share of the CPUs that nobody uses; nothing: not known how many there are.
[[nodiscard]] std::optional<double> unused_cpu_share(const Features& features);

/// The evidence that the GPU waits for loaders that never rest, without a rule's name and words;
/// nothing: it does not, or they do.
[[nodiscard]] std::optional<Finding> starving(const Seen& seen, const Loaders& loaders);

}  // namespace berth::bottleneck
