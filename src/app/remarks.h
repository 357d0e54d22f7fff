#pragma once
// What is said on stderr beside an answer, where stdout has no place for it.

#include "app/context.h"

#include <optional>
#include <string>
#include "place/policy.h"

namespace berth {

/// What an administrator may want to look at again in a policy that is right: who and what it names
/// that this machine does not have.
void say_remarks(Context& context, const Policy& policy);

/// "SIMULATED: name"; nothing: the machine is real.
void say_simulated(const std::optional<std::string>& server);

}  // namespace berth
