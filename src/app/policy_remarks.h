#pragma once
// What an administrator may want to look at again in a policy that is right.

#include "app/context.h"
#include "place/policy.h"

namespace berth {

/// On stderr: who and what it names that this machine does not have.
void say_remarks(Context& context, const Policy& policy);

}  // namespace berth
