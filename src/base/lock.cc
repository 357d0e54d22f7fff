#include "base/lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/signals.h"

namespace berth {

namespace {
struct flock lock_of(LockRange range, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.start;
  lock.l_len = range.length;
  return lock;
}
}  // namespace

Result<void> take_ofd_lock(int fd, LockRange range) {
  struct flock lock = lock_of(range, F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) return fail_system(errno, "lock the file");
  return {};
}

Result<void> drop_ofd_lock(int fd, LockRange range) {
  struct flock lock = lock_of(range, F_UNLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) return fail_system(errno, "unlock the file");
  return {};
}

Result<std::optional<LockRange>> find_ofd_lock(int fd, LockRange range) {
  struct flock lock = lock_of(range, F_RDLCK);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return fail_system(errno, "ask for the lock");
  if (lock.l_type == F_UNLCK) return std::optional<LockRange>();
  return std::optional(LockRange{.start = lock.l_start, .length = lock.l_len});
}

Result<void> take_ofd_lock(int fd) { return take_ofd_lock(fd, LockRange{}); }

Result<bool> is_ofd_locked(int fd) {
  const auto found = find_ofd_lock(fd, LockRange{});
  if (!found) return std::unexpected(found.error());
  return found->has_value();
}

namespace {

constexpr Duration between_questions = std::chrono::milliseconds(50);

extern "C" void leave_the_line(int /*signal*/) {}

/// A thread that stands in the kernel's queue for the lock. Only a signal ends a blocking flock,
/// and it must not be one of the program's own. The lock is the descriptor's, not the thread's.
class FlockQueue {
 public:
  explicit FlockQueue(int fd) : fd_(fd), done_(::eventfd(0, EFD_CLOEXEC)) {
    struct sigaction waking{};
    waking.sa_handler = leave_the_line;  // without SA_RESTART
    ::sigaction(wake_signal(), &waking, &before_);
    sigset_t all;
    sigset_t mask;
    ::sigfillset(&all);
    ::sigdelset(&all, wake_signal());
    // The program's own signals are to interrupt the thread that asked.
    ::pthread_sigmask(SIG_SETMASK, &all, &mask);
    try {
      thread_ = std::thread([this] { stand_in_line(); });
    } catch (const std::system_error&) {
      left_ = true;  // no thread to be had: the one that asks tries again and again
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  }
  ~FlockQueue() {
    given_up_ = true;
    // A signal may come just before the thread goes to sleep: until it has seen one. Each has its
    // millisecond, for signals that come faster than they are taken let the thread do nothing else.
    while (thread_.joinable() && !left_) {
      ::pthread_kill(thread_.native_handle(), wake_signal());
      (void)wait_readable({done_.get()}, std::chrono::milliseconds(1));
    }
    if (thread_.joinable()) thread_.join();
    ::sigaction(wake_signal(), &before_, nullptr);
  }
  FlockQueue(const FlockQueue&) = delete;
  FlockQueue& operator=(const FlockQueue&) = delete;

  /// Readable once the thread has the lock.
  [[nodiscard]] int descriptor() const { return done_.get(); }

 private:
  static int wake_signal() { return SIGRTMAX - 3; }

  void stand_in_line() {
    int failed = EINTR;
    while (!given_up_ && failed == EINTR) failed = ::flock(fd_, LOCK_EX) != 0 ? errno : 0;
    left_ = true;  // before anybody hears of it: then no more signals come
    const std::uint64_t one = 1;
    if (failed == 0) static_cast<void>(!::write(done_.get(), &one, sizeof one));
  }

  int fd_;
  Fd done_;
  struct sigaction before_{};
  std::atomic<bool> given_up_ = false;
  std::atomic<bool> left_ = false;
  std::thread thread_;
};

}  // namespace

Result<void> take_flock(int fd, Clock& clock, Instant deadline,
                        const std::function<bool()>& interrupted) {
  std::optional<FlockQueue> queue;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_system(errno, "lock the file");
    const Instant now = clock.now();
    const bool gives_up = now >= deadline || (interrupted && interrupted());
    if (gives_up) {
      queue.reset();
      ::flock(fd, LOCK_UN);  // its thread may have come to it just now
      return fail(ErrorCode::timeout, "another process holds the lock");
    }
    if (!queue) queue.emplace(fd);
    clock.wait_readable(queue->descriptor(), std::min(deadline, now + between_questions));
  }
  return {};
}

std::vector<ListedLock> listed_locks() {
  std::vector<ListedLock> locks;
  const auto text = read_file("/proc/locks", 16 << 20);
  if (!text) return locks;
  // "7: FLOCK  ADVISORY  WRITE 4711 fe:00:123456 0 EOF"; waiters have "->" after the number.
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    ListedLock lock;
    char kind[16] = {};
    const std::size_t arrow = line.find("-> ");
    lock.is_waited_for = arrow != std::string::npos;
    const char* rest = line.c_str() + (lock.is_waited_for ? arrow + 3 : line.find(' '));
    if (line.find(' ') == std::string::npos ||
        std::sscanf(rest, "%15s %*s %*s %d %x:%x:%" SCNuMAX, kind, &lock.pid, &lock.major,
                    &lock.minor, &lock.inode) != 5) {
      continue;
    }
    lock.is_flock = std::string_view(kind) == "FLOCK";
    lock.line = std::move(line);
    locks.push_back(std::move(lock));
  }
  return locks;
}

bool is_on(const ListedLock& lock, const struct stat& file) {
  return lock.inode == file.st_ino && lock.major == major(file.st_dev) &&
         lock.minor == minor(file.st_dev);
}

std::optional<pid_t> flock_holder(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return std::nullopt;
  for (const ListedLock& lock : listed_locks()) {
    if (lock.is_flock && !lock.is_waited_for && is_on(lock, facts)) return lock.pid;
  }
  return std::nullopt;
}

}  // namespace berth
