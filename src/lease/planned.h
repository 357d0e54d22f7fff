#pragma once
// Reservations that begin later (`berth reserve --at`): one file each, of who asks, in a directory
// of root's within the ledger. Root's `berth serve` makes that directory, holds its lock while it
// lives, and starts each, when it is time, as the owner of its file.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "lease/lease_text.h"
#include "lease/ledger.h"

namespace berth {

struct Planned {
  std::string id;
  uid_t uid = 0;  // the file's owner
  std::string user;
  PlannedText text;
};

/// So many of one user's count, the earliest first.
constexpr std::size_t most_planned_each = 16;

class PlannedPlace {
 public:
  /// `keeper`: whose the directory has to be, root. not_found: no such service was ever here.
  /// no_permission: it is another's.
  [[nodiscard]] static Result<PlannedPlace> open(const LedgerPlace& ledger, uid_t keeper);
  /// For the service: made where it is missing; what somebody else put there is moved aside. busy:
  /// another service keeps it.
  [[nodiscard]] static Result<PlannedPlace> keep(const LedgerPlace& ledger);

  /// Whether a service lives that starts them.
  [[nodiscard]] bool is_kept() const;
  /// By their time. A file that another could have made so is none: a second name, a link, one that
  /// others may write.
  [[nodiscard]] Result<std::vector<Planned>> all() const;
  /// Its name.
  [[nodiscard]] Result<std::string> add(const PlannedText& text) const;
  /// Writes one of one's own anew.
  [[nodiscard]] Result<void> change(const std::string& id, const PlannedText& text) const;
  [[nodiscard]] Result<void> remove(const std::string& id) const;

 private:
  PlannedPlace(Fd directory, Fd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}

  Fd directory_;
  Fd lock_;
};

}  // namespace berth
