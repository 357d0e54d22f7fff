#pragma once
// What the comparing files of this folder share: putting two values of one thing side by side.

#include <optional>
#include <string>
#include <utility>

#include "base/reading.h"
#include "diagnose/manifest_diff/manifest_diff.h"

namespace berth {

/// A value as it is shown, or why there is none.
struct Told {
  std::optional<Sentence> value;
  Sentence because;
};

[[nodiscard]] inline Told told(std::string text) {
  return {.value = Sentence::as_is(std::move(text))};
}
[[nodiscard]] inline Told told(Sentence words) { return {.value = std::move(words)}; }
[[nodiscard]] Sentence because_of(Absent why);
template <class T, class Text>
[[nodiscard]] Told told(const Reading<T>& reading, Text text) {
  if (!reading.get()) return {.because = because_of(reading.why())};
  return told(text(*reading.get()));
}
[[nodiscard]] inline Told told(const Reading<std::string>& reading) {
  return told(reading, [](const std::string& text) { return text; });
}

/// Collects what differs. Two values that are both unknown say nothing.
class Comparison {
 public:
  void compare(const DifferenceKind& kind, const Sentence& what, const Told& a, const Told& b);
  void cannot_compare(const DifferenceKind& kind, const Sentence& what, NotComparable::Side side,
                      const Sentence& because);
  /// Worst first.
  [[nodiscard]] ManifestDiff take() &&;

 private:
  ManifestDiff differences_;
};

void compare_devices(const Manifest& a, const Manifest& b, Comparison& into);
void compare_machines(const Manifest& a, const Manifest& b, Comparison& into);
void compare_code(const Manifest& a, const Manifest& b, Comparison& into);
void compare_python(const Manifest& a, const Manifest& b, Comparison& into);
void compare_variables(const Manifest& a, const Manifest& b, Comparison& into);

/// It computes on the CPU: a run that was given no device.
[[nodiscard]] bool computes_on_cpu(const Manifest& manifest);

}  // namespace berth
