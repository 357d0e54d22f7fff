#pragma once
// Finding: one thing wrong or wasteful, what was read that shows it, what that means and what to
// try. It is what every rule answers with. A rule that has nothing to say says nothing: on a
// healthy machine or run there are no findings.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/sentence.h"

namespace berth {

/// `hint` costs something, nothing is broken. `warning` something does not work as it should.
/// `error` what was asked for cannot work.
enum class Severity { hint, warning, error };
[[nodiscard]] constexpr std::string_view name_of(Severity severity) {
  constexpr std::string_view names[] = {"hint", "warning", "error"};
  return names[static_cast<int>(severity)];
}

/// For findings that happened more than once.
struct Occurrences {
  std::uint64_t times = 0;
  WallTime last;
  Reading<std::string> process;  // of the last
  Reading<std::uint64_t> pid;
  bool before_driver_load = false;  // all of them: the driver was loaded anew since
  friend bool operator==(const Occurrences&, const Occurrences&) = default;
};

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
  std::optional<Occurrences> occurrences = {};  // of XID errors
  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

/// Worst first; among equals as they were found.
void sort_by_severity(Findings& findings);
/// Nothing: there is no finding.
[[nodiscard]] std::optional<Severity> worst_of(const Findings& findings);

/// What a rule may report: a line of a table in doc/EXPLAIN.md, which is made of the rules' rows.
struct Reported {
  /// Names of findings: "torch_cpu_only, jax_cpu_only". An ellipsis at the end stands for any word.
  /// Null: the row has no further line.
  const char* names;
  const char* columns[3];  // the table's others
};
/// A row has room for so many.
inline constexpr std::size_t most_reported = 4;
/// One by one.
[[nodiscard]] std::vector<std::string_view> names_in(std::span<const Reported> reports);
[[nodiscard]] bool reports(std::span<const Reported> row, std::string_view name);
/// The rows of several tables, one after another.
template <class Rule>
[[nodiscard]] std::vector<Rule> rows_of(std::initializer_list<std::span<const Rule> (*)()> tables) {
  std::vector<Rule> rows;
  for (const auto table : tables) rows.insert(rows.end(), table().begin(), table().end());
  return rows;
}

}  // namespace berth
