// Which directory is the ledger, and whether it can be trusted with it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/sentence.h"
#include "base/text.h"
#include "lease/ledger.h"
#include "lease/ledger_directory.h"

namespace berth {

namespace {

struct stat facts_of(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) facts = {};
  return facts;
}

Result<Fd> open_directory(const std::string& path) {
  return open_fd(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<void> check_local(int fd, const std::string& path) {
  struct statfs facts{};
  if (::fstatfs(fd, &facts) != 0) return fail_system(errno, "examine {}", path);
  if (is_local_file_system(static_cast<std::uint64_t>(facts.f_type))) return {};
  return fail(ErrorCode::unsupported,
              "{} is on a network or user-space file system, where locks cannot be relied on. Set "
              "BERTH_LEDGER to a directory on a local disk, or ask the administrator for `sudo "
              "berth setup`",
              path);
}

/// Without O_CREAT first: in a sticky directory fs.protected_regular refuses O_CREAT on a file of
/// somebody else, even one that is there.
Result<void> make_host_lock(int directory, const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (open_host_lock(directory)) return {};
    const Fd made(::openat(directory, host_lock_name,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (made.is_open()) {
      ::fchmod(made.get(), 0666);  // whatever the umask; the directory says who may come in
      return {};
    }
    if (errno != EEXIST) return fail_system(errno, "create {}/{}", path, host_lock_name);
  }
  return fail(ErrorCode::invalid, "{}/{} is not a file that can be locked; remove it", path,
              std::string_view(host_lock_name));
}

Result<Fd> open_own(const std::string& path) {
  if (!make_directory(AT_FDCWD, path, 0700) && errno != EEXIST) {
    return fail_system(errno, "create the ledger {}", path);
  }
  auto directory = open_directory(path);
  const Sentence step = sentence(
      "remove or rename it, or set BERTH_LEDGER to a directory of your own (0700, local disk)");
  if (!directory) {
    return fail(ErrorCode::invalid, "{} is not a directory that can be opened ({}); {}", path,
                directory.error().said(), step);
  }
  const struct stat facts = facts_of(directory->get());
  if (facts.st_uid != ::geteuid()) {
    return fail(ErrorCode::no_permission, "{} belongs to user {}, not to you; {}", path,
                facts.st_uid, step);
  }
  if ((facts.st_mode & 0077U) != 0) {
    return fail(ErrorCode::no_permission, "{} is open to others (mode {}); `chmod 700 {}`", path,
                fmt::format("{:o}", facts.st_mode & 07777U), path);
  }
  if (auto local = check_local(directory->get(), path); !local) {
    return std::unexpected(std::move(local).error());
  }
  return directory;
}

/// Made whole under another name: other users of the ledger never meet a part that they may not
/// enter.
Result<void> make_part(const std::string& name, const Fd& within, const std::string& path) {
  const std::string temporary = name + "." + std::to_string(::getpid());
  if (!make_directory(within.get(), temporary, 0700) && errno != EEXIST) {
    return fail_system(errno, "create the ledger {}", path);
  }
  const mode_t mode = facts_of(within.get()).st_mode & 07777U;
  const Fd part(
      ::openat(within.get(), temporary.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!part.is_open() || ::fchmod(part.get(), mode) != 0) {
    return fail_system(errno, "share the ledger {}", path);
  }
  if (auto made = make_host_lock(part.get(), path); !made) return made;
  if (::renameat2(within.get(), temporary.c_str(), within.get(), name.c_str(), RENAME_NOREPLACE) ==
      0) {
    return {};
  }
  const int why = errno;  // EEXIST: somebody was quicker
  ::unlinkat(part.get(), host_lock_name, 0);
  ::unlinkat(within.get(), temporary.c_str(), AT_REMOVEDIR);
  return why == EEXIST ? Result<void>() : fail_system(why, "create the ledger {}", path);
}

/// A user who may enter the ledger may enter its parts.
Result<Fd> open_part(const std::string& path, const Fd& within) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (::faccessat(within.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
    if (auto made = make_part(name, within, path); !made) {
      return std::unexpected(std::move(made).error());
    }
  }
  return open_directory(path);
}

Result<Fd> open_named(const std::string& path, const std::string& named_by) {
  if (auto made = make_directories(path, 0700); !made) {
    const Error told =
        std::move(made).error().because(sentence("making the ledger that {} names", named_by));
    return fail(told.code(), "{}; name a directory in {} that you may write", told.said(),
                named_by);
  }
  auto directory = open_fd(path, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory;
  if (auto local = check_local(directory->get(), path); !local) {
    return std::unexpected(std::move(local).error());
  }
  return directory;
}

}  // namespace

bool is_local_file_system(std::uint64_t magic) {
  // linux/magic.h and the file systems' own sources.
  switch (magic & 0xFFFFFFFFU) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFE534D42:  // SMB2
    case 0xFF534D42:  // CIFS
    case 0x65735546:  // FUSE: sshfs and the like
    case 0x5346414F:  // AFS (OpenAFS)
    case 0x6B414653:  // AFS (kernel)
    case 0x73757245:  // Coda
    case 0x01021997:  // 9P
    case 0x00C36400:  // Ceph
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0xAAD7AAEA:  // PanFS
    case 0x01161970:  // GFS2
    case 0x7461636F:  // OCFS2
    case 0x0187:      // autofs
      return false;
    default:
      return true;
  }
}

Result<Fd> open_host_lock(int directory) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd fd(::openat(directory, host_lock_name, flags));
  if (!fd.is_open()) return fail_system(errno, "open the ledger's host.lock");
  if (!S_ISREG(facts_of(fd.get()).st_mode)) {
    return fail(ErrorCode::invalid, "the ledger's host.lock is not a regular file");
  }
  return fd;
}

namespace {
/// In a user namespace whose numbers are not those of the machine.
bool maps_users() {
  constexpr const char* path = "/proc/self/uid_map";
  if (!is_there(path)) return false;
  const std::string map = first_line_of(path);
  std::vector<std::string_view> numbers = split(map, ' ');
  std::erase(numbers, std::string_view());
  return numbers.size() != 3 || numbers[0] != numbers[1] || numbers[2] != "4294967295";
}
}  // namespace

bool is_trusted_shared_ledger(const std::string& path) {
  const auto directory = open_directory(path);
  if (!directory) return false;
  const struct stat facts = facts_of(directory->get());
  if (facts.st_uid != 0 || (facts.st_mode & 07777U) != 01777) return false;
  const auto lock = open_host_lock(directory->get());
  if (!lock) return false;
  const struct stat lock_facts = facts_of(lock->get());
  return lock_facts.st_uid == 0 && lock_facts.st_nlink == 1;
}

Result<LedgerPlace> find_ledger(const std::optional<std::string>& named,
                                const std::string& shared_root, const std::string& own_root) {
  if (named && !named->empty()) {
    if (!named->starts_with('/')) {
      return fail(ErrorCode::invalid,
                  "BERTH_LEDGER is \"{}\": write its whole path. From another folder these words "
                  "name another ledger, without this one's leases",
                  printable(*named));
    }
    return LedgerPlace{.directory = *named, .kind = LedgerPlace::Kind::named};
  }
  // Opening tells what is wrong with a shared ledger. A private ledger in its place would hide
  // everybody's leases. Only root can put something there.
  if (is_trusted_shared_ledger(shared_root) || ::access(shared_root.c_str(), F_OK) == 0) {
    return LedgerPlace{.directory = shared_root, .kind = LedgerPlace::Kind::shared};
  }
  return LedgerPlace{.directory = own_root + "/berth-" + std::to_string(::geteuid()),
                     .kind = LedgerPlace::Kind::own};
}

LedgerPlace part_for_simulated(LedgerPlace place, std::string_view server) {
  constexpr std::size_t longest = 100;  // of a path its end
  std::string name;
  for (const char c : server.substr(server.size() - std::min(server.size(), longest))) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    name += is_plain ? c : '_';
  }
  if (name.starts_with('.')) name.front() = '_';  // "..", of which a path makes another folder
  if (place.kind == LedgerPlace::Kind::named) {
    place.within = place.directory;
    // Named like what is not yet published, which every berth leaves out when it reads.
    place.directory += "/" + std::string(temporary_prefix) + "sim-" + name;
  } else {
    place.directory += "-sim/" + name;
  }
  return place;
}

Result<Fd> open_ledger_directory(const LedgerPlace& place) {
  switch (place.kind) {
    case LedgerPlace::Kind::shared: {
      if (!is_trusted_shared_ledger(place.directory)) {
        if (maps_users()) {
          return fail(ErrorCode::no_permission,
                      "{} is of outside this container, which numbers users anew: a lease taken "
                      "here would be another account's. Start it without a user namespace (docker "
                      "--userns=host, podman as root), or without the ledger",
                      place.directory);
        }
        return fail(ErrorCode::no_permission,
                    "{} is not a ledger made by `sudo berth setup` (root's, mode 1777, with root's "
                    "host.lock in it); run it again",
                    place.directory);
      }
      return open_directory(place.directory);
    }
    case LedgerPlace::Kind::own: {
      auto directory = open_own(place.directory);
      if (!directory) return directory;
      if (auto made = make_host_lock(directory->get(), place.directory); !made) {
        return std::unexpected(std::move(made).error());
      }
      return directory;
    }
    case LedgerPlace::Kind::named: {
      auto directory =
          open_named(place.within.empty() ? place.directory : place.within, place.named_by);
      if (!directory) return directory;
      if (!place.within.empty()) directory = open_part(place.directory, *directory);
      if (!directory) return directory;
      if (auto made = make_host_lock(directory->get(), place.directory); !made) {
        return std::unexpected(std::move(made).error());
      }
      return directory;
    }
  }
  return fail(ErrorCode::invalid, "no such kind of ledger");
}

}  // namespace berth
