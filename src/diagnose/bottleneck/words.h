#pragma once
// How rules say what was read.

#include <string>

#include "diagnose/bottleneck/rules.h"

namespace berth::bottleneck {

[[nodiscard]] std::string percent(double share);         // "42 %"
[[nodiscard]] std::string decimal(double value);         // "1.6"
[[nodiscard]] std::string size_rate(double per_second);  // "512 MiB/s"
/// "a kernel ran 42 % of the time that was watched (10 s)"
[[nodiscard]] Sentence busy_sentence(const Seen& seen);
/// Why it may be wrong, where part of the evidence could not be read; empty: it was.
[[nodiscard]] Sentence doubt_of(const Seen& seen);

}  // namespace berth::bottleneck
