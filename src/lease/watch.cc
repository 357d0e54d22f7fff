#include "lease/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace berth {

Result<LedgerWatch> LedgerWatch::open(int directory) {
  Fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.is_open()) return fail_system(errno, "watch the ledger");
  const std::string path = "/proc/self/fd/" + std::to_string(directory);
  // A lease ends by removal, or by the close of its last descriptor, which was open for writing.
  if (::inotify_add_watch(fd.get(), path.c_str(), IN_DELETE | IN_CLOSE_WRITE) < 0) {
    return fail_system(errno, "watch the ledger");
  }
  return LedgerWatch(std::move(fd));
}

bool LedgerWatch::drain() {
  bool something = false;
  std::array<char, 16384> events{};
  while (::read(fd_.get(), events.data(), events.size()) > 0) something = true;
  return something;
}

}  // namespace berth
