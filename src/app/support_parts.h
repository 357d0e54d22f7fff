#pragma once
// What goes into a support file. Each part is asked of a process or a file of its own, bounded in
// time and size. So a hung driver costs one part and not the file.

#include <string>
#include <vector>

#include "app/context.h"
#include "base/redactor.h"
#include "view/support_text.h"

namespace berth {

struct SupportQuestion {
  std::string log_of;               // a run whose output is added; empty: none
  std::vector<std::string> global;  // --sim NAME or --replay FILE, as they were given
};

/// As they are: nothing is masked yet.
[[nodiscard]] std::vector<SupportPart> gather_support(Context& context,
                                                      const SupportQuestion& question);

/// Whether they hold a snapshot that can be read: a hung driver gives none.
[[nodiscard]] bool has_snapshot(const std::vector<SupportPart>& parts);

/// The names to redact: the user and the host. Also all users in the password file, the ledger, the
/// records of runs or a snapshot of this machine.
[[nodiscard]] Redactor::Names names_to_replace(Context& context,
                                               const std::vector<SupportPart>& parts);

}  // namespace berth
