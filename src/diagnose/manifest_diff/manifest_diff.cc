#include "diagnose/manifest_diff/manifest_diff.h"

#include <algorithm>

#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"
#include "record/run_record.h"

namespace berth {

namespace {

constexpr DifferenceKind simulated{
    "simulated", Explains::results,
    as_key("What a simulated server measures is made up: nothing of it compares with a real one.")};
constexpr DifferenceKind ungathered{
    "ungathered", Explains::results,
    as_key("Machine, code, Python and variables are gathered once the job runs.")};

/// A run that ended before anything was gathered says nothing of its software.
bool is_gathered(const Manifest& manifest) {
  return manifest.complete || manifest.machine.operating_system.get() ||
         !manifest.variables.empty();
}

void compare_software(const Manifest& a, const Manifest& b, Comparison& into) {
  if (is_gathered(a) && is_gathered(b)) {
    compare_python(a, b, into);
    compare_code(a, b, into);
    compare_variables(a, b, into);
    return;
  }
  using Side = NotComparable::Side;
  const Side side = is_gathered(b) ? Side::a : is_gathered(a) ? Side::b : Side::both;
  const bool never_started = (is_gathered(a) ? b : a).waiting;
  into.cannot_compare(ungathered, sentence("machine, code, Python and variables"), side,
                      never_started ? sentence("the run has not started")
                                    : sentence("the run was over before they were gathered"));
}

}  // namespace

Sentence because_of(Absent why) {
  switch (why) {
    case Absent::unsupported:
      return sentence("there is none, or nothing tells it");
    case Absent::no_permission:
      return sentence("no permission to read it");
    case Absent::failed:
      return sentence("reading it failed");
    case Absent::not_sampled:
      return sentence("it was not read");
  }
  return {};
}

void Comparison::compare(const DifferenceKind& kind, const Sentence& what, const Told& a,
                         const Told& b) {
  using Side = NotComparable::Side;
  if (a.value && b.value) {
    if (*a.value == *b.value) return;
    differences_.found.push_back({.rule = std::string(kind.rule),
                                  .explains = kind.explains,
                                  .what = what,
                                  .in_a = *a.value,
                                  .in_b = *b.value,
                                  .why = kind.why});
  } else if (a.value) {
    cannot_compare(kind, what, Side::b, b.because);
  } else if (b.value) {
    cannot_compare(kind, what, Side::a, a.because);
  }
}

void Comparison::cannot_compare(const DifferenceKind& kind, const Sentence& what,
                                NotComparable::Side side, const Sentence& because) {
  differences_.unknown.push_back({.rule = std::string(kind.rule),
                                  .could_explain = kind.explains,
                                  .what = what,
                                  .unknown_in = side,
                                  .because = because});
}

ManifestDiff Comparison::take() && {
  std::ranges::stable_sort(differences_.found, {}, &Difference::explains);
  std::ranges::stable_sort(differences_.unknown, {}, &NotComparable::could_explain);
  return std::move(differences_);
}

bool computes_on_cpu(const Manifest& manifest) {
  return is_of_run(manifest) && manifest.given.devices.empty();
}

ManifestDiff manifest_diff(const Manifest& a, const Manifest& b) {
  Comparison comparison;
  const auto name_of_server = [](const Manifest& manifest) {
    const auto& name = manifest.given.simulated;
    return told(name ? sentence("simulated: {}", *name) : sentence("real"));
  };
  comparison.compare(simulated, sentence("server"), name_of_server(a), name_of_server(b));
  compare_devices(a, b, comparison);
  compare_software(a, b, comparison);
  compare_machines(a, b, comparison);
  return std::move(comparison).take();
}

bool any_found(const ManifestDiff& differences, Explains explains) {
  return std::ranges::find(differences.found, explains, &Difference::explains) !=
         differences.found.end();
}

bool any_unknown(const ManifestDiff& differences, Explains explains) {
  return std::ranges::find(differences.unknown, explains, &NotComparable::could_explain) !=
         differences.unknown.end();
}

}  // namespace berth
