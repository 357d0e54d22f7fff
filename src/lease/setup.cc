#include "lease/setup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "lease/ledger_directory.h"

namespace berth {

namespace {

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Result<void> put_right(int fd, const std::string& path, mode_t mode, SetupReport& report) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return fail_system(errno, "examine {}", path);
  if (facts.st_uid == 0 && (facts.st_mode & 07777U) == mode) {
    report.unchanged.push_back(sentence("{} is root's, mode {}", path, fmt::format("{:o}", mode)));
    return {};
  }
  if (::fchown(fd, 0, 0) != 0) return fail_system(errno, "give {} to root", path);
  if (::fchmod(fd, mode) != 0) return fail_system(errno, "set the mode of {}", path);
  report.done.push_back(sentence("{} is now root's, mode {}", path, fmt::format("{:o}", mode)));
  return {};
}

Result<void> make_ledger(const std::string& path, SetupReport& report) {
  if (auto parents = make_directories(parent_of(path)); !parents) return parents;
  if (make_directory(AT_FDCWD, path, 0755)) {
    report.done.push_back(sentence("made the directory {}", path));
  } else if (errno != EEXIST) {
    return fail_system(errno, "make the directory {}", path);
  }
  const auto directory = open_fd(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) {
    return fail(ErrorCode::invalid,
                "{} is there and is not a directory; move it away and try again", path);
  }
  if (auto right = put_right(directory->get(), path, 01777, report); !right) return right;

  const std::string lock_path = path + "/" + host_lock_name;
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd lock(::openat(directory->get(), host_lock_name, flags | O_CREAT | O_EXCL, 0666));
  if (lock.is_open()) {
    report.done.push_back(sentence("made the lock {}", lock_path));
  } else {
    lock = Fd(::openat(directory->get(), host_lock_name, flags));
  }
  struct stat facts{};
  if (!lock.is_open() || ::fstat(lock.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_nlink != 1) {
    return fail(ErrorCode::invalid, "{} is there and is not a plain file; remove it and try again",
                lock_path);
  }
  return put_right(lock.get(), lock_path, 0666, report);
}

Result<void> write_if_different(const std::string& path, const std::string& text,
                                SetupReport& report) {
  const auto before = read_file(path);
  if (before && *before == text) {
    report.unchanged.push_back(sentence("{} is as it should be", path));
    return {};
  }
  if (auto parents = make_directories(parent_of(path)); !parents) return parents;
  if (auto written = write_file_atomically(path, text); !written) return written;
  report.done.push_back(sentence("wrote {}", path));
  return {};
}

}  // namespace

std::string tmpfiles_text(const std::string& ledger) {
  return "# Made by `berth setup`: the ledger in which GPU jobs are written down while they run.\n"
         "d " +
         ledger +
         " 1777 root root -\n"
         "f " +
         ledger + "/" + host_lock_name +
         " 0666 root root -\n"
         "x " +
         ledger + "/*\n";
}

std::string mount_unit_text(const std::string& ledger) {
  return "# Made by `berth setup`: a file system of its own, so that a full /run stops no job.\n"
         "[Unit]\n"
         "Description=Ledger of GPU jobs (berth)\n"
         "DefaultDependencies=no\n"
         "Before=local-fs.target systemd-tmpfiles-setup.service\n"
         "ConditionPathIsMountPoint=!" +
         ledger +
         "\n"
         "\n"
         "[Mount]\n"
         "What=tmpfs\n"
         "Where=" +
         ledger +
         "\n"
         "Type=tmpfs\n"
         "Options=mode=1777,size=16M,nr_inodes=16k,nosuid,nodev,noexec\n"
         "\n"
         "[Install]\n"
         "WantedBy=local-fs.target\n";
}

Result<SetupReport> make_shared_ledger(const SetupPaths& paths) {
  if (::geteuid() != 0) {
    return fail(ErrorCode::no_permission,
                "a ledger for all users must be root's: run `sudo berth setup`");
  }
  SetupReport report;
  const mode_t umask_before = ::umask(022);
  auto made = make_ledger(paths.root + paths.ledger, report);
  if (made) {
    made = write_if_different(paths.root + paths.tmpfiles, tmpfiles_text(paths.ledger), report);
  }
  if (made) {
    made = write_if_different(paths.root + paths.mount_unit, mount_unit_text(paths.ledger), report);
  }
  ::umask(umask_before);
  if (!made) return std::unexpected(std::move(made).error().because("berth setup"));
  report.next = {"systemctl daemon-reload", "systemctl enable run-berth.mount"};
  return report;
}

}  // namespace berth
