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
struct flock whole_file(short type) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}
}  // namespace

Result<void> take_ofd_lock(int fd) {
  struct flock range = whole_file(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &range) != 0) return fail_system("lock the file", errno);
  return {};
}

Result<bool> is_ofd_locked(int fd) {
  struct flock range = whole_file(F_RDLCK);
  if (::fcntl(fd, F_OFD_GETLK, &range) != 0) return fail_system("ask for the lock", errno);
  return range.l_type != F_UNLCK;
}

Result<void> take_flock(int fd, Clock& clock, Instant deadline) {
  Duration pause = std::chrono::milliseconds(1);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_system("lock the file", errno);
    const Instant now = clock.now();
    if (now >= deadline) return fail(ErrorCode::timeout, "another process holds the lock");
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
