#pragma once
// A share that the kernel holds, without setuid: a run asks root's `berth serve` (lease/planned.h)
// to keep it to its share. The service makes a control group below the run's own: its other limits
// stay. It moves the process that asked there, and has the driver set the limits.
// What a run asks for can only bind itself: where a limit is set already, none is added.

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "lease/ledger.h"
#include "lease/planned.h"

namespace berth {

/// What the service asks of the system and of the driver. Devices are named by UUID.
struct LimitDriver {
  /// Nothing for a device: no limit any more.
  using NewLimits = std::map<std::string, std::optional<Bytes>>;
  /// The directories of the process's control group and of those above it, nearest first; empty: it
  /// is in none of version 2.
  std::function<std::vector<std::string>(pid_t)> groups_of;
  /// The limits that hold in these groups. not_found: there is none.
  std::function<Result<std::map<std::string, Bytes>>(const std::vector<std::string>& groups)>
      limits_of;
  std::function<Result<void>(const std::string& group, const NewLimits& limits)> set;
};

/// For RunServices: asks, and waits for the answer. Null: no such service is here. `root`: whose it
/// has to be.
[[nodiscard]] std::function<Result<void>(const std::map<std::string, Bytes>&)> kernel_limit_setter(
    const LedgerPlace& ledger, uid_t root, Clock& clock);

/// In the service, each second: those that something is to be done for, by name. What has ended by
/// itself is taken away.
[[nodiscard]] std::vector<std::string> limits_to_see_to(const PlannedPlace& place);

/// As root, in a process of its own, as the driver may hang: sets what that file asks for, or takes
/// it off once nobody is in its group. What is refused is written as the answer; an error: that
/// could not be written.
[[nodiscard]] Result<void> see_to_limit(const PlannedPlace& place, const std::string& id,
                                        const LimitDriver& driver);

}  // namespace berth
