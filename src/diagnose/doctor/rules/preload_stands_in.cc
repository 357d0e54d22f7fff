#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// Whether it is not the driver's own: a stub, or of another version than the driver's. Those of a
/// compat package are newer on purpose.
bool is_foreign(const FoundLibrary& library, const Examined& host) {
  if (library.path.find("/stubs") != std::string::npos) return true;
  const auto& driver = host.snapshot.host.driver_version.get();
  // WSL's is libcuda.so.1.1: that is no driver's version.
  const auto version = two_part(library.version);
  const bool says = version && version->major >= 100;
  return driver && says && library.version != *driver &&
         library.path.find("/compat") == std::string::npos;
}

}  // namespace

Findings preload_stands_in(const Examined& host) {
  if (!host.world.libraries) return {};
  Findings findings;
  for (const FoundLibrary& library : host.world.libraries->preloaded) {
    const bool is_driver = is_of_driver(library);
    if (is_driver && !is_foreign(library, host)) continue;
    Finding finding{.rule = "preload_stands_in",
                    .severity = is_driver ? Severity::error : Severity::hint,
                    .title = sentence("LD_PRELOAD gives every program its own {}", library.name),
                    .evidence = {sentence("LD_PRELOAD names {}", library.path)},
                    .meaning = sentence("Programs get the first, whichever they were built for."),
                    .steps = {{sentence("leave it out"), "unset LD_PRELOAD"}}};
    if (is_driver) {
      finding.evidence.push_back(
          sentence("the driver is {}", host.snapshot.host.driver_version.get().value_or("?")));
      finding.meaning = sentence("It stands before the driver's own, which alone fits the driver.");
    } else {
      finding.doubt = sentence("it may be meant: a newer one is sometimes tried like that");
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace berth::doctor
