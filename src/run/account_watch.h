#pragma once
// AccountWatch: whose the slots of a run's account are, as the host sees its processes. A shim sees
// its own PID namespace alone, and nothing of what a process was before it became another program.
// So the sampler gives back what such slots still hold, and names who holds memory without one.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "guard/account_file.h"
#include "record/sample.h"

namespace berth {

/// What a process is called in the innermost PID namespace that it is in.
struct InnerName {
  std::uint64_t pid_namespace = 0;  // 0: this user may not see it
  std::uint64_t pid = 0;
};
/// Nothing: it has gone, or the kernel does not tell (before Linux 4.1).
[[nodiscard]] std::optional<InnerName> inner_name_of(pid_t pid, const std::string& proc);

/// A process of the run that has more than its slot says.
struct Uncounted {
  pid_t pid = 0;
  std::size_t device = 0;
  Bytes measured;
};

class AccountWatch {
 public:
  explicit AccountWatch(std::string proc) : proc_(std::move(proc)) {}

  /// `own`: the run's processes on its devices, as the driver told at this look. Empties the slots
  /// of those that have ended or become another program; in doubt none. Answers the first who for
  /// some looks has had more than is counted for it.
  [[nodiscard]] std::optional<Uncounted> look(AccountFile& account,
                                              const std::vector<ProcessSample>& own, Clock& clock);

 private:
  enum class Owner { lives, gone, unknown };
  using Slot = AccountFile::Slot;
  [[nodiscard]] Owner owner_of(const Slot& slot);
  [[nodiscard]] Owner owner_in_another_namespace(const Slot& slot);
  [[nodiscard]] bool is_another_program(AccountFile& account, const Slot& slot, Clock& clock);
  [[nodiscard]] std::optional<Uncounted> find_uncounted(const std::vector<Slot>& slots,
                                                        const std::vector<ProcessSample>& own);

  std::string proc_;
  std::map<std::size_t, pid_t> owners_;  // of slots, as this process sees them
  std::map<std::size_t, int> idle_;      // slots with charges and no memory: for how many looks
  std::map<std::pair<pid_t, std::size_t>, int> above_;  // the same of processes above their slots
};

}  // namespace berth
