#pragma once
// Holders: leases and places in the queue join a look at the machine.

#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// Adds them to the snapshot. Whom the ledger knows by number alone, because /etc/passwd has no
/// name for him, is called as his processes are: the probe asks a directory service (LDAP, SSSD)
/// for those, where a service that hangs can be cut off.
void add_holders(Snapshot& snapshot, std::vector<Claim> claims, std::vector<Waiter> waiters);

}  // namespace berth
