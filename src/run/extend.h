#pragma once
// More time for a lease that ends at a time limit (`berth extend`). It says which lease a name
// means, whose hours are used up, and whom more time would delay.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "lease/ledger.h"
#include "place/policy.h"
#include "snapshot/claim.h"

namespace berth {

/// The user's own lease of that name, or of the run of that name. "last" is the lease that they
/// were given last: what `exec` runs inside of one is none. not_found, invalid (several match).
/// Pure.
[[nodiscard]] Result<Claim> own_claim(const LedgerView& view, uid_t uid, const std::string& name);

/// no_permission: a user whose hours are used up gets no more of them in this way. Pure.
[[nodiscard]] Result<void> has_hours_left(const Policy& policy, uid_t uid);

/// A reservation may have been let in ahead of others because it ends early. busy: it may not be
/// extended at their cost. The claim has an end. Pure.
[[nodiscard]] Result<void> delays_nobody(const LedgerView& view, const Claim& claim,
                                         std::chrono::milliseconds more, WallTime now);

struct Extended {
  std::string run;
  WallTime ends;  // from now on
};
/// Moves the end of the caller's own lease of that name, and of what `berth exec` began within it.
/// `policy`: asked once the lease is known; gives null where there is none.
[[nodiscard]] Result<Extended> extend_lease(
    const Ledger& ledger, const std::string& name, std::chrono::milliseconds more,
    const std::function<Result<std::shared_ptr<const Policy>>()>& policy, Clock& clock);

}  // namespace berth
