// What its own log says: the catalogue of error texts over a detached run's output.

#include <algorithm>

#include "base/text.h"
#include "diagnose/death/explain_log.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

/// The promise per device, where all have the same.
std::optional<Bytes> promise_of(const Manifest& manifest) {
  if (manifest.promised.empty()) return std::nullopt;
  const auto differs = std::ranges::any_of(
      manifest.promised, [&](const auto& one) { return one != manifest.promised.front(); });
  return differs ? std::nullopt : manifest.promised.front();
}

}  // namespace

Findings known_error_text(const DeathEvidence& evidence) {
  if (evidence.log == nullptr) return {};
  const Manifest& manifest = evidence.run.manifest;
  return explain_log(*evidence.log, {.promised = promise_of(manifest),
                                     .batch = batch_size_in(shell_joined(manifest.command))});
}

}  // namespace berth
