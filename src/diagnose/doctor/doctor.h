#pragma once
// What is wrong between a user's programs and this machine's GPUs: every rule asked, worst first.
// Pure: what was read is in Examined.

#include <span>
#include <string_view>

#include "diagnose/doctor/examined.h"

namespace berth {

[[nodiscard]] Findings examine(const Examined& host);

/// Every name that a finding can have, those of berth health's ("health_…") left out. Each stands
/// in doc/EXPLAIN.md.
[[nodiscard]] std::span<const std::string_view> doctor_rule_names();

}  // namespace berth
