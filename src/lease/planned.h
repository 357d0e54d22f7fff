#pragma once
// Users' requests to root's `berth serve`: one file each, owned by the asker, in a directory of
// root's within the ledger. The service makes that directory and holds its lock while it lives. It
// starts a reservation that begins later (`berth reserve --at`) when it is time, as the owner of
// its file. It sets a limit of the kernel for a run's share. Its answer takes the file's place, as
// root's.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "lease/lease_text.h"
#include "lease/ledger.h"
#include "lease/watch.h"

namespace berth {

struct Planned {
  std::string id;
  uid_t uid = 0;  // the file's owner
  std::string user;
  PlannedText text;
};

struct AskedLimit {
  std::string id;
  uid_t uid = 0;  // who asks
  bool is_answered = false;
  LimitText text;  // what is root's to say is empty before
};

/// So many of one user's count, the earliest first.
constexpr std::size_t most_planned_each = 16;
/// Of these, those that are held too.
constexpr std::size_t most_limits_each = 64;

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
  /// Tells of files that are written and removed there.
  [[nodiscard]] Result<LedgerWatch> watch() const { return LedgerWatch::open(directory_.get()); }
  /// By their time. A file that another could have made so is none: a second name, a link, one that
  /// others may write.
  [[nodiscard]] Result<std::vector<Planned>> all() const;
  /// Likewise, by name; an answer is the service's.
  [[nodiscard]] Result<std::vector<AskedLimit>> limits() const;
  /// Its name.
  [[nodiscard]] Result<std::string> add(const PlannedText& text) const;
  [[nodiscard]] Result<std::string> add(const LimitText& text) const;
  /// Writes one of one's own anew; root may put its own in another's place.
  [[nodiscard]] Result<void> change(const std::string& id, const PlannedText& text) const;
  [[nodiscard]] Result<void> change(const std::string& id, const LimitText& text) const;
  [[nodiscard]] Result<void> remove(const std::string& id) const;

 private:
  struct Entry;
  [[nodiscard]] Result<std::vector<Entry>> entries(std::string_view prefix) const;
  [[nodiscard]] Result<std::string> add(std::string_view prefix, const std::string& text) const;
  [[nodiscard]] Result<void> write_anew(const std::string& id, const std::string& text) const;
  PlannedPlace(Fd directory, Fd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}

  Fd directory_;
  Fd lock_;
};

}  // namespace berth
