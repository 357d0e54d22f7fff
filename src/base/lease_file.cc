#include "base/lease_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace berth {

bool is_named(int fd, int directory, const std::string& name) {
  struct stat held{};
  struct stat named{};
  return ::fstat(fd, &held) == 0 &&
         ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Result<void> remove_lease_file(int fd, int directory, const std::string& name) {
  if (!is_named(fd, directory, name) || ::unlinkat(directory, name.c_str(), 0) == 0 ||
      errno == ENOENT) {
    return {};
  }
  return fail_system(errno, "remove the lease {}", name);
}

void remove_ledgers_inside(const std::string& directory) {
  if (directory.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  std::filesystem::remove_all(directory + "-inside", ignored);
}

}  // namespace berth
