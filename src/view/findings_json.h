#pragma once
// Findings for programs, as a part of whatever JSON a command writes.

#include <nlohmann/json_fwd.hpp>

#include "diagnose/finding.h"

namespace berth {

/// An array with, per finding: rule, severity, title, evidence, meaning, steps (what, command or
/// null) and doubt (null: none). Always English.
[[nodiscard]] nlohmann::ordered_json findings_json(const Findings& findings);

}  // namespace berth
