#pragma once
// What berth's own processes wait for, for a report about one that does not go on. For each process
// it has its part in a run, its state, its system call and its open files. It also names who has
// locked these files.

#include <vector>

#include "base/process.h"
#include "lease/ledger.h"
#include "record/run_record.h"

namespace berth {

/// All processes of this user that are this program, in English. A child asks for each process,
/// because asking may hang. What it told before a hang is kept, and then there is no exit code.
/// `ledger` and `runs` tell who is whose keeper, and who waits.
[[nodiscard]] Result<ChildAnswer> waits_of_own_processes(const LedgerView& ledger,
                                                         const std::vector<RunRecord>& runs,
                                                         Clock& clock);

}  // namespace berth
