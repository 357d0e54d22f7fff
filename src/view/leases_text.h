#pragma once
// `berth leases`: the promised devices with their holders, and the waiters.

#include <optional>
#include <string>

#include "lease/ledger.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// The snapshot's claims, waiters and devices must be filled in. `place` says who shares the
/// ledger, which an empty list needs. Nothing: the snapshot is a recording's. Times are relative to
/// Snapshot::taken.
[[nodiscard]] std::string render_leases(const Snapshot& snapshot,
                                        const std::optional<LedgerPlace>& place,
                                        const Style& style);
[[nodiscard]] std::string leases_json(const Snapshot& snapshot,
                                      const std::optional<LedgerPlace>& place);

}  // namespace berth
