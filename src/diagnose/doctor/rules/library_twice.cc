#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// Whether the loader takes one for the other: it goes by the soname, which for these is the name
/// and the first number (of CUDA 11's runtime the first two).
bool is_same_soname(const FoundLibrary& one, const FoundLibrary& other) {
  const auto first = two_part(one.version);
  const auto second = two_part(other.version);
  if (!first || !second || first->major != second->major) return false;
  return one.name != "libcudart" || first->major > 11 || first->minor == second->minor;
}

}  // namespace

Findings library_twice(const Examined& host) {
  if (!host.world.libraries) return {};
  Findings findings;
  const auto& found = host.world.libraries->found;
  for (const FoundLibrary& library : found) {
    if (library.via != "LD_LIBRARY_PATH" || is_of_driver(library)) continue;
    // The same library a second time, of another version, further behind in the same list.
    for (const FoundLibrary& other : found) {
      const bool behind = &other > &library && other.via == "LD_LIBRARY_PATH";
      if (!behind || other.name != library.name || other.version == library.version) continue;
      if (!is_same_soname(library, other)) continue;
      findings.push_back(
          {.rule = "library_twice",
           .severity = Severity::hint,
           .title = sentence("LD_LIBRARY_PATH leads to two versions of {}", library.name),
           .evidence = {sentence("{} comes first", library.path), sentence("then {}", other.path)},
           .meaning = sentence("Programs get the first, whichever they were built for."),
           .steps = {{sentence("keep the one that is meant"), "echo $LD_LIBRARY_PATH"}},
           .doubt = sentence("packages that bring their own libraries do not look there first")});
    }
  }
  return findings;
}

}  // namespace berth::doctor
