#pragma once
// The file that is a lease, as its holder ends it: a run's keeper by lease/, a program with
// libberth itself.

#include <string>

#include "base/result.h"

namespace berth {

/// Is the descriptor's file the one that the name stands for?
[[nodiscard]] bool is_named(int fd, int directory, const std::string& name);

/// Ends it for all who hold it, unless the name is another's by now. After a failure it still
/// holds.
[[nodiscard]] Result<void> remove_lease_file(int fd, int directory, const std::string& name);

/// The ledgers of those who leased within a lease, and within theirs; empty: there are none.
void remove_ledgers_inside(const std::string& directory);

}  // namespace berth
