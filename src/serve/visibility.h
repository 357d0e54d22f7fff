#pragma once
// Who sees what. Pure: a snapshot or a run goes in, with the principal and the administrator's
// decision. The part that the principal may see comes out.
//
// Everybody sees devices and numbers. A known user sees the whole of their own. The administrator
// (root, the daemon's own user, a token made for one) sees everything. Of others a known user sees:
//   owner   that a device is in use: no names of users
//   public  names of users, no commands, no containers, no paths (the default)
//   group   as public, and the commands of users who share a group with the asking one
//
// Names of pods are as paths, unless `pods` opens them to everybody who may ask.
//
// A user who comes through the Unix socket is a user of this machine. /proc and the ledger show
// that user what others run. So this shows it, too, but not with `owner`. If /proc hides it
// (hidepid), neither does. Somebody unknown (TCP without a token) sees of others what `public`
// shows, or `owner` if that is chosen.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "record/run_record.h"
#include "serve/principal.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

struct Visibility {
  enum class Others { owner, open, group };  // `open` is written "public"
  Others others = Others::open;
  bool pods_are_open = false;
  /// /proc shows every user of this machine what the others run (base/process_stat.h).
  bool commands_are_open = false;
};
[[nodiscard]] std::optional<Visibility::Others> others_from_name(std::string_view name);

/// How much one sees of a user's things.
enum class AccessLevel { numbers, names, commands, whole };

/// How much one sees of what belongs to `owner`. Nothing: the owner is not known.
[[nodiscard]] AccessLevel access_level(const Principal& principal, std::optional<uid_t> owner,
                                       const Visibility& visibility, const GroupBook& book);

/// "public", "group" or "owner": in a word, what this principal sees.
[[nodiscard]] std::string_view word_for_what_is_seen(const Principal& principal,
                                                     const Visibility& visibility);

/// Whether the principal may end or signal what belongs to `owner`.
[[nodiscard]] bool may_act_for(const Principal& principal, std::optional<uid_t> owner);

[[nodiscard]] Snapshot visible_part(Snapshot snapshot, const Principal& principal,
                                    const Visibility& visibility, const GroupBook& book);

/// The part of a user's run that others may know. Members that are not named there stay with its
/// owner. `access_level`: less than whole.
[[nodiscard]] RunRecord visible_part(const RunRecord& run, AccessLevel access_level);

/// Names of files that belong to users become "…". Those of the system stay.
[[nodiscard]] std::string without_private_paths(std::string_view text);

// ViewCache: what each asking one may see of a look. All who see the same share one view, made when
// the first of them asks. Leaving out what one may not see costs as much as writing a page of
// metrics.

class ViewCache {
 public:
  ViewCache(std::shared_ptr<const Snapshot> look, Visibility visibility,
            std::shared_ptr<const GroupBook> book)
      : look_(std::move(look)), visibility_(visibility), book_(std::move(book)) {}

  /// Never null. All who see the same share one, as far as there are not too many to keep. Any
  /// thread may ask.
  [[nodiscard]] std::shared_ptr<const Snapshot> of(const Principal& principal);

 private:
  static constexpr std::size_t most_kept = 64;

  std::shared_ptr<const Snapshot> look_;
  Visibility visibility_;
  std::shared_ptr<const GroupBook> book_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Snapshot>> kept_;  // by what is seen
};

}  // namespace berth::serve
