#pragma once
// How two manifests differ, and what each difference can explain: other results, another speed
// only, or neither. A fact that one of the two does not tell is neither equal nor different. It is
// named with the reason. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/sentence.h"
#include "record/run_record.h"

namespace berth {

/// Worst first. `results` the numbers that come out may be others. `speed` the same numbers, later
/// or sooner. `neither` it is said because somebody looks for it.
enum class Explains { results, speed, neither };
[[nodiscard]] constexpr std::string_view name_of(Explains explains) {
  constexpr std::string_view names[] = {"results", "speed", "neither"};
  return names[static_cast<int>(explains)];
}

/// A class of things that may differ, with what a difference in it means.
struct DifferenceKind {
  std::string_view rule;  // a word for programs, the same for ever
  Explains explains = Explains::neither;
  std::string_view why;  // a key of the catalogue
};

struct Difference {
  std::string rule;
  Explains explains = Explains::neither;
  Sentence what;  // "torch", "GPU model", "variable NCCL_ALGO"
  Sentence in_a;
  Sentence in_b;
  std::string_view why;  // goes through tr()
};

/// A fact that cannot be compared.
struct NotComparable {
  enum class Side { a, b, both };
  std::string rule;
  Explains could_explain = Explains::neither;
  Sentence what;
  Side unknown_in = Side::both;
  Sentence because;
};

struct ManifestDiff {
  std::vector<Difference> found;       // worst first
  std::vector<NotComparable> unknown;  // worst first
};

/// Either may be of a run or of no run (record/run_record.h). A run beside a place is compared
/// with the devices there that are most like its own.
[[nodiscard]] ManifestDiff manifest_diff(const Manifest& a, const Manifest& b);

/// Whether something was found, or is not known, that could explain this.
[[nodiscard]] bool any_found(const ManifestDiff& differences, Explains explains);
[[nodiscard]] bool any_unknown(const ManifestDiff& differences, Explains explains);

}  // namespace berth
