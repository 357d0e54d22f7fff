#pragma once
// Finding: one thing wrong or wasteful, what was read that shows it, what that means and what to
// try. It is what every rule of diagnose/ answers with. A rule that has nothing to say says
// nothing: on a healthy machine or run there are no findings.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sentence.h"

namespace berth {

/// `hint` costs something, nothing is broken. `warning` something does not work as it should.
/// `error` what was asked for cannot work.
enum class Severity { hint, warning, error };
[[nodiscard]] constexpr std::string_view name_of(Severity severity) {
  constexpr std::string_view names[] = {"hint", "warning", "error"};
  return names[static_cast<int>(severity)];
}

struct Finding {
  std::string rule;  // a word for programs, the same for ever: "torch_cpu_only"
  Severity severity = Severity::hint;
  Sentence title;                  // what is wrong, in one line
  std::vector<Sentence> evidence;  // what was read and where; never empty
  Sentence meaning;                // why it matters, or what follows from it
  /// What to try, the surest first: a sentence, or a command that can be pasted.
  struct Step {
    Sentence what;
    std::string command;  // empty: there is none; never run by us
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;
  /// Why this may be wrong: what could not be read; empty: the evidence is whole.
  Sentence doubt;
  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

/// Worst first; among equals as they were found.
void sort_by_severity(Findings& findings);
/// Nothing: there is no finding.
[[nodiscard]] std::optional<Severity> worst_of(const Findings& findings);

}  // namespace berth
