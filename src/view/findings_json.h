#pragma once
// Findings for programs, as a part of whatever JSON a command writes.

#include <nlohmann/json_fwd.hpp>

#include "base/archive.h"
#include "diagnose/finding.h"

namespace berth {

/// Of each: rule, severity, title, evidence, meaning, steps (what, command or
/// null) and doubt (null: none). Always English.
void walk(Archive& archive, Finding& finding);
/// The same as an array, for who writes no archive yet.
[[nodiscard]] nlohmann::ordered_json findings_json(const Findings& findings);

}  // namespace berth
