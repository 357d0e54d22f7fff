#pragma once
// What `berth reap` does about idle leases: by the machine's policy alone, each owner told first.
// Pure.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "place/policy.h"
#include "snapshot/claim.h"

namespace berth {

/// A lease on whose devices nothing was computed since then, as a history knows without a gap.
struct IdleLease {
  Claim claim;
  WallTime since;
};

/// `leave` the policy says nothing of it, or its owner was told and no more is to be done. `tell`
/// its owner now. `wait` for the end of the notice. `end` it. `untold` nobody can be told, so that
/// nothing is done.
enum class ReapAct { leave, tell, wait, end, untold };

struct ReapStep {
  IdleLease lease;
  ReapAct act = ReapAct::leave;
  std::optional<WallTime> ends;  // when it is to be ended if it stays idle; nothing: never
};

/// `told`: when the owner of a lease was told, by the lease's name. An owner who has computed since
/// is told anew.
[[nodiscard]] std::vector<ReapStep> plan_reap(const std::vector<IdleLease>& idle,
                                              const Policy& policy,
                                              const std::map<std::string, WallTime>& told,
                                              WallTime now);

/// "LEASE TOLD_UNIX_MS" a line.
[[nodiscard]] std::map<std::string, WallTime> told_in(std::string_view text);
[[nodiscard]] std::string told_text(const std::map<std::string, WallTime>& told);

}  // namespace berth
