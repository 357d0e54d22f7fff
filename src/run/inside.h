#pragma once
// A `berth run` inside another's lease. It gets a share of that lease and never waits for anybody
// outside: the lease has a little ledger of its own, in which only those inside it claim and queue.

#include <optional>
#include <string>

#include "base/clock.h"
#include "lease/ledger.h"
#include "run/acquire.h"

namespace berth {

/// Where those inside a lease of this ledger keep theirs.
[[nodiscard]] std::string inside_directory(const Ledger& ledger, const std::string& lease);

struct Inside {
  std::string lease;  // of a run inside a run inside…: their ids with slashes, the outermost first
  Ledger ledger;
};

/// If BERTH_LEASE names a living lease of this user: narrows the options to its devices, makes the
/// look leave out what the outer run itself has on them, and opens the lease's own ledger. Of
/// several, one within the other, the innermost that lives. Nothing: no such lease, an ordinary
/// run. invalid: more is wanted than the lease has.
[[nodiscard]] Result<std::optional<Inside>> enter_outer_lease(
    const Ledger& outer, const std::optional<std::string>& lease, Clock& clock,
    AcquireOptions& options, TakeSnapshot& look);

/// The options narrowed to the outer claim. Pure.
[[nodiscard]] Result<void> narrow_to(const Claim& claim, AcquireOptions& options);

/// The snapshot without what processes of the outer run have on the devices. Pure.
[[nodiscard]] Snapshot without_run_of(const Claim& claim, Snapshot snapshot);

}  // namespace berth
