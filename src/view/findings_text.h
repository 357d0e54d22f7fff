#pragma once
// What a diagnosis found, for people and for programs: the same picture whichever command asked.

#include <string>
#include <string_view>

#include "base/archive.h"
#include "snapshot/finding.h"
#include "view/paint.h"
#include "view/style.h"

namespace berth {

/// Each finding with its evidence, what it means and what to try, in the order given. Commands
/// stand alone on their line and are never cut: they are to be pasted.
[[nodiscard]] std::string render_findings(const Findings& findings, const Style& style);

/// The commands alone, each below the finding it cures as a comment: a script to read, then to run.
/// Never run by us.
[[nodiscard]] std::string render_fixes(const Findings& findings, const Style& style);

[[nodiscard]] std::string_view finding_word(Severity severity);

// Findings for programs, as a part of whatever JSON a command writes.

/// Each finding: rule, severity, title, evidence, meaning, steps (what, command or null) and doubt
/// (null: none). Always English.
void walk(Archive& archive, Finding& finding);

}  // namespace berth
