#pragma once
// The two kinds of lock that berth uses, and what each is for.
//
// An OFD lock (F_OFD_SETLK) marks a lease as alive. It belongs to the open file description, and is
// inherited over fork and exec. Others can *ask* whether it is held without taking anything. With
// flock any user could make a dead lease look alive merely by probing it.
//
// flock is the host lock, held for microseconds while claiming. /proc/locks names its holder, so a
// waiter can be told who holds it.

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace berth {

/// Write-locks the whole file without waiting. busy: another description holds it.
/// Needs a descriptor open for writing.
[[nodiscard]] Result<void> take_ofd_lock(int fd);

/// Whether some *other* open file description holds a write lock on the file. Takes nothing, needs
/// only read access.
[[nodiscard]] Result<bool> is_ofd_locked(int fd);

/// Part of a file's offsets. Locks may lie far beyond the file's end.
struct LockRange {
  off_t start = 0;
  off_t length = 0;  // 0: everything from `start` on
};

/// The same for a part of the file. A description's own locks never refuse it.
[[nodiscard]] Result<void> take_ofd_lock(int fd, LockRange range);
[[nodiscard]] Result<void> drop_ofd_lock(int fd, LockRange range);
/// The first write lock of some *other* description that meets the range. It is told whole, with
/// its part before the range. Nothing: there is none.
[[nodiscard]] Result<std::optional<LockRange>> find_ofd_lock(int fd, LockRange range);

/// An exclusive flock, released when the Fd given to it is closed. The kernel hands it on in the
/// order of asking. `deadline`: timeout after that. Where `interrupted`, asked 20 times a second,
/// says so it gives up, as after the deadline.
[[nodiscard]] Result<void> take_flock(int fd, Clock& clock, Instant deadline,
                                      const std::function<bool()>& interrupted = {});

/// A lock, or somebody's wait for one, as /proc/locks lists it.
struct ListedLock {
  std::string line;
  bool is_flock = false;
  bool is_waited_for = false;  // by this process, which does not have it
  pid_t pid = 0;               // -1: an open file's, no process's
  unsigned major = 0;
  unsigned minor = 0;
  std::uintmax_t inode = 0;
};
/// All of them; none where they cannot be read.
[[nodiscard]] std::vector<ListedLock> listed_locks();
[[nodiscard]] bool is_on(const ListedLock& lock, const struct stat& file);

/// The pid that holds an flock on this file, by /proc/locks; nothing where it cannot be learned.
[[nodiscard]] std::optional<pid_t> flock_holder(int fd);

}  // namespace berth
