// Names and files in the ledger's directory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text.h"
#include "lease/ledger_directory.h"

namespace berth {

Result<std::vector<std::string>> names_in(int directory) {
  // A new description: two listings of one description would share their position.
  Fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return fail_system("list the ledger", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), ::closedir);
  if (!stream) return fail_system("list the ledger", errno);
  static_cast<void>(fd.release());  // the stream closes it
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<Fd> open_entry(int directory, const std::string& name) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd fd(::openat(directory, name.c_str(), flags));
  if (!fd.is_open()) return fail_system("open " + name, errno);
  return fd;
}

bool is_named(int fd, int directory, const std::string& name) {
  struct stat held{};
  struct stat named{};
  return ::fstat(fd, &held) == 0 &&
         ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace berth
