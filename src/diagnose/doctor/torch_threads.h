#pragma once
// How many threads torch computes with on the CPU, by its own word.

#include <optional>

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

/// Nothing: it was not asked.
[[nodiscard]] std::optional<int> torch_threads(const Examined& host);
/// Has the finding say it, where it is known.
void add_torch_threads(const Examined& host, Finding& finding);

}  // namespace berth::doctor
