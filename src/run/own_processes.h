#pragma once
// What berth's own processes wait for, for a report about one that does not go on: of each its part
// in a run, its state, the system call it is in, its open files, and who has locked them.

#include <vector>

#include "base/process.h"
#include "lease/ledger.h"
#include "record/run_record.h"

namespace berth {

/// Of all processes of this user that are this program, in English. What may hang is asked by a
/// child, process by process: what was told before a hang is kept, and there is no exit then.
/// `ledger`, `runs`: who is whose keeper, and who waits.
[[nodiscard]] Result<ChildAnswer> waits_of_own_processes(const LedgerView& ledger,
                                                         const std::vector<RunRecord>& runs,
                                                         Clock& clock);

}  // namespace berth
