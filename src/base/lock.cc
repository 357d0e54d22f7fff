#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <sstream>

namespace berth {

namespace {
struct flock lock_of(ByteRange range, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.start;
  lock.l_len = range.length;
  return lock;
}
}  // namespace

Result<void> take_ofd_lock(int fd, ByteRange range) {
  struct flock lock = lock_of(range, F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) return fail_system("lock the file", errno);
  return {};
}

Result<void> drop_ofd_lock(int fd, ByteRange range) {
  struct flock lock = lock_of(range, F_UNLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) return fail_system("unlock the file", errno);
  return {};
}

Result<std::optional<off_t>> find_ofd_lock(int fd, ByteRange range) {
  struct flock lock = lock_of(range, F_RDLCK);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return fail_system("ask for the lock", errno);
  if (lock.l_type == F_UNLCK) return std::optional<off_t>();
  return std::optional<off_t>(lock.l_start);
}

Result<void> take_ofd_lock(int fd) { return take_ofd_lock(fd, ByteRange{}); }

Result<bool> is_ofd_locked(int fd) {
  const auto found = find_ofd_lock(fd, ByteRange{});
  if (!found) return std::unexpected(found.error());
  return found->has_value();
}

Result<void> take_flock(int fd, Clock& clock, Instant deadline,
                        const std::function<bool()>& interrupted) {
  Duration pause = std::chrono::milliseconds(1);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_system("lock the file", errno);
    const Instant now = clock.now();
    const bool gives_up = now >= deadline || (interrupted && interrupted());
    if (gives_up) return fail(ErrorCode::timeout, "another process holds the lock");
    clock.wait_until(std::min(deadline, now + pause));
    pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(20));
  }
  return {};
}

std::optional<pid_t> flock_holder(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return std::nullopt;
  const auto locks = read_file("/proc/locks", 16 << 20);
  if (!locks) return std::nullopt;
  // "7: FLOCK  ADVISORY  WRITE 4711 fe:00:123456 0 EOF"; waiters have "->" after the number.
  std::istringstream lines(*locks);
  for (std::string line; std::getline(lines, line);) {
    unsigned major_number = 0;
    unsigned minor_number = 0;
    std::uintmax_t inode = 0;
    int pid = 0;
    if (line.find("->") != std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%*s FLOCK %*s %*s %d %x:%x:%" SCNuMAX, &pid, &major_number,
                    &minor_number, &inode) != 4) {
      continue;
    }
    if (inode == facts.st_ino && major_number == major(facts.st_dev) &&
        minor_number == minor(facts.st_dev)) {
      return pid;
    }
  }
  return std::nullopt;
}

}  // namespace berth
