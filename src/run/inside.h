#pragma once
// A `berth run` inside another's lease. It gets a share of that lease and never waits for anybody
// outside. The lease has a little ledger of its own: only runs inside the lease claim and queue
// there.

#include <optional>
#include <string>

#include "base/clock.h"
#include "lease/ledger.h"
#include "run/acquire.h"

namespace berth {

/// The directory of the ledgers of runs inside a lease of this ledger.
[[nodiscard]] std::string inside_directory(const Ledger& ledger, const std::string& lease);

struct Inside {
  std::string lease;  // of a run inside a run inside…: their ids with slashes, the outermost first
  Ledger ledger;
};

/// Acts if BERTH_LEASE names a living lease of this user. Then it restricts the options to the
/// lease's devices and opens the lease's own ledger. It makes the look leave out what the outer run
/// itself has on them. Of several nested leases it takes the innermost that lives. Nothing: no such
/// lease, an ordinary run. invalid: the options want more than the lease has.
[[nodiscard]] Result<std::optional<Inside>> enter_outer_lease(
    const Ledger& outer, const std::optional<std::string>& lease, Clock& clock,
    AcquireOptions& options, TakeSnapshot& look);

/// The options narrowed to the outer claim. Pure.
[[nodiscard]] Result<void> narrow_to(const Claim& claim, AcquireOptions& options);

/// The snapshot without what processes of the outer run have on the devices. Pure.
[[nodiscard]] Snapshot without_run_of(const Claim& claim, Snapshot snapshot);

}  // namespace berth
