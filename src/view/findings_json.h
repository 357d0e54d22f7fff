#pragma once
// Findings for programs, as a part of whatever JSON a command writes.

#include "base/archive.h"
#include "snapshot/finding.h"

namespace berth {

/// Of each: rule, severity, title, evidence, meaning, steps (what, command or
/// null) and doubt (null: none). Always English.
void walk(Archive& archive, Finding& finding);

}  // namespace berth
