#pragma once
// A manifest that is of no run: what this machine and this user's software are here and now
// (`berth manifest --json`). The same value and the same keys as a run's, less what only a run has.

#include <string>
#include <string_view>

#include "base/result.h"
#include "record/run_record.h"

namespace berth {

/// Whether it is of a run; else of a place and a time, with every device that is there.
[[nodiscard]] inline bool is_of_run(const Manifest& manifest) { return !manifest.id.empty(); }

/// Format "berth-manifest", version 1; `manifest.started` is when it was gathered.
[[nodiscard]] std::string here_to_json(const Manifest& manifest);

/// Reads that, and a run's manifest.json as well. invalid, unsupported: as manifest_from_json.
[[nodiscard]] Result<Manifest> any_manifest_from_json(std::string_view text);

}  // namespace berth
