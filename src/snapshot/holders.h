#pragma once
// Holders: leases and places in the queue join a look at the machine.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// What people are called who have no name in /etc/passwd, as far as looks at the machine have
/// told. Kept from look to look: a user without a process just now keeps the name from before.
class HolderNames {
 public:
  static constexpr std::size_t most = 4096;

  /// What processes tell. The newest name counts; of more than `most` people those go whose
  /// processes were seen the longest time ago.
  void learn(const Snapshot& snapshot);
  /// Nothing: no process of his has been seen under a name.
  [[nodiscard]] std::optional<std::string> name_of(uid_t uid) const;

 private:
  struct Known {
    std::string name;
    std::uint64_t seen = 0;  // the look that told it last
  };
  std::map<uid_t, Known> known_;
  std::uint64_t look_ = 0;
};

/// Adds them to the snapshot. The ledger knows a user without a name in /etc/passwd by number
/// alone. Such a user gets the name that their processes have, or had at an earlier look. The probe
/// asks a directory service (LDAP, SSSD) for those names, because it can cut off a service that
/// hangs.
void add_holders(Snapshot& snapshot, std::vector<Claim> claims, std::vector<Waiter> waiters,
                 HolderNames& names);

}  // namespace berth
