#pragma once
// Files that another user may have chosen. Each is opened with its owner's rights, so a link opens
// nothing that its owner could not open. Only a regular file of that owner is opened, on a file
// system that keeps files. /proc has files that are everybody's and tell of their reader.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace berth {

struct FileOwner {
  static constexpr gid_t nobodys = 65534;

  uid_t uid = 0;
  /// The one group that is used. Not a folder's: its maker need not be in that.
  gid_t gid = nobodys;

  [[nodiscard]] static FileOwner ourselves();
};

/// The folder's owner, with the group that /etc/passwd names where that counts. invalid: it is no
/// folder itself (a link to one is none).
[[nodiscard]] Result<FileOwner> owner_of_folder(const std::string& path);

/// Files are opened with this user's rights as long as it lives, and with none of our own. Root's
/// groups would open what the user may not read. The kernel keeps these per thread and takes root's
/// power over files away with them. Only root has rights to lay down: for everybody else, and for
/// an owner who is us, nothing changes.
class OwnersRights {
 public:
  explicit OwnersRights(const FileOwner& owner);
  ~OwnersRights();
  OwnersRights(const OwnersRights&) = delete;
  OwnersRights& operator=(const OwnersRights&) = delete;

  /// False: our own rights could not be laid down, and nothing may be opened.
  [[nodiscard]] bool are_there() const { return are_there_; }

 private:
  std::vector<gid_t> groups_;  // our own
  bool are_there_ = true;
  bool borrowed_ = false;
  int uid_ = 0;
  int gid_ = 0;
  int signal_ = 0;  // the one that comes when the parent dies
};

/// Gives up every right of this process but this owner's, for good. `groups_of`: whose further
/// groups it takes, which a directory service may be asked for; nothing: it has none. False: errno
/// says why, and some may be given up already.
[[nodiscard]] bool become_user(const FileOwner& owner, const std::optional<std::string>& groups_of);

/// Opens `path`, to be read, within `folder`, which has to be that owner's; an absolute path is
/// anywhere. Never waits for a writer, never takes a controlling terminal. Where the owner is this
/// process's user, the file may be anybody's: some file systems know no owners. Root's file must be
/// root's, in a folder that nobody else may write in. invalid: it is no such file.
[[nodiscard]] Result<Fd> open_file_of(const FileOwner& owner, const std::string& folder,
                                      const std::string& path);

/// The whole of it, at most `limit` bytes.
[[nodiscard]] Result<std::string> read_file_of(const FileOwner& owner, const std::string& folder,
                                               const std::string& path,
                                               std::size_t limit = 1 << 20);

}  // namespace berth
