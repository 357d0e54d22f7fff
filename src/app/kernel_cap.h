#pragma once
// A share that the kernel holds, without setuid. A run asks root's `berth serve` (lease/planned.h)
// to keep it to its share. The service makes a control group below the run's own, so the run keeps
// all its other limits. It moves the process that asked there, and has the driver set the limits.
// What a run asks for can only bind itself: where a limit is set already, none is added.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/context.h"
#include "lease/planned.h"

namespace berth {

/// For RunServices: asks, and waits for the answer. Null: no such service is here.
[[nodiscard]] std::function<Result<void>(const std::map<std::string, Bytes>&)> kernel_limit_setter(
    Context& context);

/// In the service, each second: the limits that need an act, by name. Limits that ended by
/// themselves are taken away.
[[nodiscard]] std::vector<std::string> limits_to_see_to(const PlannedPlace& place);

/// Runs as root in a process of its own, as the driver may hang. Sets what that file asks for, or
/// takes it off once nobody is in its group. The exit code.
int see_to_limit(Context& context, const std::string& id);

}  // namespace berth
