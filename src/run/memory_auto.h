#pragma once
// `--memory auto`: what a command took the last time, as its records tell. Pure.

#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace berth {

/// What a command is promised by its last run. `run` empty: none of its runs tells.
struct LearntMemory {
  std::string run;
  Bytes peak{0};
  /// The peak and a tenth, at least 512 MiB more. Nothing: no share of such a card holds that, the
  /// whole device does.
  std::optional<Bytes> share;
  friend bool operator==(const LearntMemory&, const LearntMemory&) = default;
};

/// `runs`: one user's, newest first. Takes the newest that ended well and whose processes' memory
/// was seen. It must have the same words (`command`, masked as in a manifest) and the same number
/// of devices. It must be of the same kind of machine (`simulated` or not).
[[nodiscard]] LearntMemory memory_learnt(std::span<const RunRecord> runs,
                                         const std::vector<std::string>& command, int devices,
                                         bool simulated);

}  // namespace berth
