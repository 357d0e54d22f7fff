#include "guard/shim_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/process_stat.h"

namespace berth {

namespace {

constexpr mode_t others_write = S_IWGRP | S_IWOTH;

bool is_root() { return ::geteuid() == 0; }

std::optional<struct stat> facts_of(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts;
}

/// Empty: nothing speaks against it.
Sentence why_not_trusted(const std::string& path, bool is_last) {
  const auto facts = facts_of(path);
  if (!facts) return sentence("{}: {}", path, std::strerror(errno));
  if (!S_ISDIR(facts->st_mode)) return sentence("{} is no folder", path);
  const bool is_ours = facts->st_uid == ::geteuid();
  if (!is_ours && (is_last || facts->st_uid != 0)) {
    return sentence("{} belongs to user {}", path, facts->st_uid);
  }
  const bool is_shared = (facts->st_mode & others_write) != 0;
  if (is_shared && (is_last || (facts->st_mode & S_ISVTX) == 0)) {
    return sentence("others can write in {}", path);
  }
  return {};
}

/// A link of somebody else's leads where they like: into a folder of root's, where root would
/// write.
Sentence why_links_are_not_trusted(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const auto facts = facts_of(part);
    const bool is_link = facts && S_ISLNK(facts->st_mode);
    if (is_link && facts->st_uid != 0 && facts->st_uid != ::geteuid()) {
      return sentence("{} is a link of user {}", part, facts->st_uid);
    }
    if (slash == std::string::npos) return {};
  }
}

/// The loader separates its lists by some characters, and replaces words behind a dollar.
bool fits_into_a_list(const std::string& path) {
  return std::ranges::none_of(path, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == ':' || c == ';' || c == '$' || c == '\x7f';
  });
}

bool holds(const std::string& path, const struct stat& facts, std::string_view bytes) {
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() || facts.st_nlink != 1 ||
      (facts.st_mode & others_write) != 0) {
    return false;
  }
  const auto now = read_file(path, bytes.size() + 1);
  return now && *now == bytes;
}

bool is_named_by_a_process(const std::string& path, const std::string& proc) {
  const auto pids = pids_in(proc);
  if (!pids) return true;  // nobody knows
  return std::ranges::any_of(*pids, [&](pid_t pid) {
    const auto environment = read_file(proc + "/" + std::to_string(pid) + "/environ", 4 << 20);
    return environment && environment->find(path) != environment->npos;
  });
}

}  // namespace

std::expected<std::string, Sentence> make_shim_folder(const std::string& path) {
  if (Sentence why = why_links_are_not_trusted(path); !why.empty()) {
    return std::unexpected(std::move(why));
  }
  std::error_code failed;
  const std::string real = std::filesystem::weakly_canonical(path, failed).string();
  if (failed || !real.starts_with('/')) {
    return std::unexpected(sentence("{}: {}", path, failed.message()));
  }
  if (!fits_into_a_list(real)) {
    return std::unexpected(sentence("{} has a character that LD_PRELOAD cannot hold", real));
  }
  for (std::size_t slash = real.find('/', 1);; slash = real.find('/', slash + 1)) {
    const std::string part = real.substr(0, slash);
    const bool is_last = slash == std::string::npos;
    const mode_t mode = is_root() ? 0755 : 0700;
    if (!facts_of(part)) {
      if (!make_directory(AT_FDCWD, part, mode) && errno != EEXIST) {
        return std::unexpected(sentence("{}: {}", part, std::strerror(errno)));
      }
      (void)::chmod(part.c_str(), mode);  // whatever the umask; trust is checked below
    }
    if (Sentence why = why_not_trusted(part, is_last); !why.empty()) {
      return std::unexpected(std::move(why));
    }
    if (is_last) break;
  }
  struct statvfs system{};
  if (::statvfs(real.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    return std::unexpected(sentence("{} is on a file system mounted noexec", real));
  }
  return real;
}

std::expected<Written, Sentence> write_shim_file(const std::string& path, std::string_view bytes) {
  const auto before = facts_of(path);
  if (before && holds(path, *before, bytes)) return Written::as_it_was;
  const mode_t mode = is_root() ? 0444 : 0400;
  auto written = write_file_atomically(path, bytes, mode);
  if (written && ::chmod(path.c_str(), mode) != 0) {  // whatever the umask
    written = fail_system(errno, "set the mode of {}", path);
  }
  if (!written) return std::unexpected(sentence("{}: {}", path, written.error().said()));
  return before ? Written::anew : Written::newly;
}

std::expected<Written, Sentence> write_shim_link(const std::string& path,
                                                 const std::string& target) {
  const bool was_there = facts_of(path).has_value();
  if (was_there && read_link(path).value_or("") == target) return Written::as_it_was;
  const std::string made = path + ".new." + std::to_string(::getpid());
  ::unlink(made.c_str());
  if (::symlink(target.c_str(), made.c_str()) != 0 || ::rename(made.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(made.c_str());
    return std::unexpected(sentence("{}: {}", path, std::strerror(why)));
  }
  return was_there ? Written::anew : Written::newly;
}

Sentence why_not_executable(const std::string& path) {
  const auto fd = open_fd(path, O_RDONLY | O_NOFOLLOW);
  if (!fd) return sentence("{}: {}", path, fd.error().said());
  constexpr std::size_t some = 4096;
  void* at = ::mmap(nullptr, some, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd->get(), 0);
  if (at == MAP_FAILED) {
    return sentence("nothing can be executed from {}: {}", path, std::strerror(errno));
  }
  ::munmap(at, some);
  return {};
}

void sweep_shim_folders(const std::string& kept, const std::string& proc) {
  const auto image_of = [](const std::string& folder) { return folder + "/libcuda.so.1"; };
  ::utimensat(AT_FDCWD, image_of(kept).c_str(), nullptr, 0);
  const auto used = facts_of(image_of(kept));
  const std::string parent = kept.substr(0, kept.rfind('/'));
  const auto names = list_directory(parent);
  if (!used || !names) return;
  constexpr std::int64_t sweep_after_s = std::int64_t{sweep_after_days} * 24 * 3600;
  for (const std::string& name : *names) {
    const std::string folder = parent + "/" + name;
    const auto its = facts_of(folder);
    const auto last_used = facts_of(image_of(folder));
    const bool is_old = last_used && used->st_mtime - last_used->st_mtime > sweep_after_s;
    if (folder == kept || !its || !S_ISDIR(its->st_mode) || !is_old) continue;
    if (is_named_by_a_process(folder, proc)) continue;
    std::error_code failed;
    std::filesystem::remove_all(folder, failed);  // the next run tries again
  }
}

}  // namespace berth
