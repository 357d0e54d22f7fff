#pragma once
// `berth leases`: who has been promised what, and who waits.

#include <string>

#include "lease/ledger.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// From a snapshot whose claims, waiters and devices are filled in; `place` says who shares the
/// ledger, which is what an empty list means. Times are relative to Snapshot::taken.
[[nodiscard]] std::string render_leases(const Snapshot& snapshot, const LedgerPlace& place,
                                        const Style& style);
[[nodiscard]] std::string leases_json(const Snapshot& snapshot, const LedgerPlace& place);

}  // namespace berth
