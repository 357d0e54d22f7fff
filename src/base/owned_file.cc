#include "base/owned_file.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/user_name.h"

namespace berth {

namespace {

// Not in every linux/magic.h (include/uapi/linux/magic.h of 6.12, and the sources named).
constexpr unsigned long configfs_magic = 0x62656570;    // fs/configfs/mount.c
constexpr unsigned long mqueue_magic = 0x19800202;      // ipc/mqueue.c
constexpr unsigned long rpc_pipefs_magic = 0x67596969;  // net/sunrpc/rpc_pipe.c
constexpr unsigned long fusectl_magic = 0x65735543;     // fs/fuse/control.c

/// Whose files the kernel makes up when they are read. A list of those that keep files would miss
/// the next network file system.
constexpr auto made_by_the_kernel = std::to_array<unsigned long>(
    {PROC_SUPER_MAGIC,     SYSFS_MAGIC,         DEVPTS_SUPER_MAGIC,   CGROUP_SUPER_MAGIC,
     DEBUGFS_MAGIC,        TRACEFS_MAGIC,       CGROUP2_SUPER_MAGIC,  SECURITYFS_MAGIC,
     SELINUX_MAGIC,        SMACK_MAGIC,         PSTOREFS_MAGIC,       EFIVARFS_MAGIC,
     BINFMTFS_MAGIC,       BPF_FS_MAGIC,        NSFS_MAGIC,           PIPEFS_MAGIC,
     SOCKFS_MAGIC,         ANON_INODE_FS_MAGIC, RDTGROUP_SUPER_MAGIC, AAFS_MAGIC,
     BINDERFS_SUPER_MAGIC, configfs_magic,      mqueue_magic,         rpc_pipefs_magic,
     fusectl_magic});

/// For this thread alone: glibc's setgroups() changes every thread of the process.
bool set_thread_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

/// They say what was before, and never whether it has worked.
bool has_file_rights_of(const FileOwner& owner) {
  return ::setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(owner.uid) &&
         ::setfsgid(static_cast<gid_t>(-1)) == static_cast<int>(owner.gid);
}

Result<void> is_kept_file_of(const FileOwner& owner, int fd, const std::string& path) {
  struct stat facts{};
  struct statfs system{};
  if (::fstat(fd, &facts) != 0 || ::fstatfs(fd, &system) != 0) {
    return fail_system(errno, "examine {}", path);
  }
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, "{} is no regular file", path);
  if (std::ranges::find(made_by_the_kernel, static_cast<unsigned long>(system.f_type)) !=
      made_by_the_kernel.end()) {
    return fail(ErrorCode::invalid, "{} is made by the kernel and kept nowhere: it is no file",
                path);
  }
  const bool counts = owner.uid != ::geteuid() || owner.uid == 0;
  if (counts && facts.st_uid != owner.uid) {
    return fail(ErrorCode::no_permission, "{} is not a file of user {}'s", path, owner.uid);
  }
  return {};
}

/// As he can, or as we can: it may stand in a folder of ours that is closed to him.
Result<Fd> open_folder_of(const FileOwner& owner, const std::string& path) {
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
  auto folder = [&] {
    const OwnersRights rights(owner);
    return open_fd(path, flags);
  }();
  if (!folder && folder.error().code() == ErrorCode::no_permission) folder = open_fd(path, flags);
  if (!folder) return folder;
  struct stat facts{};
  if (::fstat(folder->get(), &facts) != 0) return fail_system(errno, "examine {}", path);
  // What stands in a folder of root's that others may write in is not root's.
  const bool is_open_to_others =
      ::geteuid() == 0 && owner.uid == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (is_open_to_others) {
    return fail(ErrorCode::no_permission, "{} may be written in by others than root", path);
  }
  if (facts.st_uid == owner.uid) return folder;
  return fail(ErrorCode::no_permission, "{} is another user's by now", path);
}

}  // namespace

FileOwner FileOwner::ourselves() { return {.uid = ::geteuid(), .gid = ::getegid()}; }

Result<FileOwner> owner_of_folder(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return fail_system(errno, "examine {}", path);
  if (!S_ISDIR(facts.st_mode)) return fail(ErrorCode::invalid, "{} is no folder", path);
  if (facts.st_uid == ::geteuid()) return FileOwner::ourselves();
  FileOwner owner{.uid = facts.st_uid};
  if (::geteuid() == 0) owner.gid = local_group_of(owner.uid).value_or(FileOwner::nobodys);
  return owner;
}

OwnersRights::OwnersRights(const FileOwner& owner) {
  if (::geteuid() != 0 || owner.uid == 0) return;
  const int count = ::getgroups(0, nullptr);
  groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  are_there_ = ::getgroups(count, groups_.data()) == count && set_thread_groups({});
  if (!are_there_) return;
  borrowed_ = true;
  // The kernel forgets it where rights change.
  if (::prctl(PR_GET_PDEATHSIG, &signal_) != 0) signal_ = 0;
  gid_ = ::setfsgid(owner.gid);
  uid_ = ::setfsuid(owner.uid);
  are_there_ = has_file_rights_of(owner);
}

OwnersRights::~OwnersRights() {
  if (!borrowed_) return;
  ::setfsuid(static_cast<uid_t>(uid_));
  ::setfsgid(static_cast<gid_t>(gid_));
  (void)set_thread_groups(groups_);
  if (signal_ != 0) (void)::prctl(PR_SET_PDEATHSIG, signal_);
}

bool become_user(const FileOwner& owner, const std::optional<std::string>& groups_of) {
  const auto [uid, gid] = owner;
  const bool has_groups =
      (groups_of ? ::initgroups(groups_of->c_str(), gid) : ::setgroups(0, nullptr)) == 0;
  // The user comes last: without root's rights no group can be given up.
  return has_groups && ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0;
}

Result<Fd> open_file_of(const FileOwner& owner, const std::string& folder,
                        const std::string& path) {
  const auto within = open_folder_of(owner, folder);
  if (!within) return std::unexpected(within.error());
  const std::string shown = path.starts_with('/') ? path : folder + "/" + path;
  const OwnersRights rights(owner);
  if (!rights.are_there()) {
    return fail(ErrorCode::no_permission,
                "cannot open {} with its owner's rights: root may not take them here", shown);
  }
  // Found first and opened only then: opening alone can rewind a tape or wake who waits on a FIFO.
  const int in_folder = path.starts_with('/') ? 0 : O_NOFOLLOW;
  const Fd found(::openat(within->get(), path.c_str(), O_PATH | O_CLOEXEC | in_folder));
  if (!found.is_open()) return fail_system(errno, "open {}", shown);
  if (const auto is_one = is_kept_file_of(owner, found.get(), shown); !is_one) {
    return std::unexpected(is_one.error());
  }
  const std::string again = "/proc/self/fd/" + std::to_string(found.get());
  Fd opened(::open(again.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened.is_open()) return fail_system(errno, "open {}", shown);
  return opened;
}

Result<std::string> read_file_of(const FileOwner& owner, const std::string& folder,
                                 const std::string& path, std::size_t limit) {
  const auto file = open_file_of(owner, folder, path);
  if (!file) return std::unexpected(file.error());
  return read_stream(file->get(), limit, Sentence::as_is(path));
}

}  // namespace berth
