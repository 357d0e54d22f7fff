#pragma once
// What berth's own processes wait for, for a report about one that does not go on: of each its part
// in a run, its state, the system call it is in, its open files, and who has locked them.

#include <string>

#include "app/context.h"
#include "view/support_text.h"

namespace berth {

/// Of all processes of this user that are this program. What may hang is asked by a child, process
/// by process: what was told before a hang is kept.
[[nodiscard]] SupportPart waits_of_own_processes(Context& context);

}  // namespace berth
