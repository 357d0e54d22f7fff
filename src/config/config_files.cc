#include "config/config_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "base/user_name.h"

namespace berth {

namespace {

constexpr std::string_view project_name = "/berth.toml";
constexpr mode_t others_may_write = S_IWGRP | S_IWOTH;  // with an ACL the group's bits are its mask

constexpr std::string_view isolation_name = "/isolation";

std::string kernel() {
  return std::string(trimmed(read_file("/proc/sys/kernel/osrelease").value_or("")));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Nothing: it is ours or root's, and nobody else can write it.
std::optional<Error> distrusted(const std::string& path, const struct stat& facts,
                                std::optional<uid_t> by) {
  if (by && facts.st_uid != *by) {
    return Error(ErrorCode::no_permission,
                 "{} is not read: it is of the user with the number {} and has to be {}'s. Run: "
                 "sudo chown root {}",
                 printable(path), facts.st_uid, local_user_name(*by),
                 shell_quoted(printable(path)));
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return Error(ErrorCode::no_permission,
                 "{} is not read: it is another user's (uid {}); a configuration has to be your "
                 "own or root's",
                 printable(path), facts.st_uid);
  }
  if ((facts.st_mode & others_may_write) != 0) {
    return Error(ErrorCode::no_permission,
                 "{} is not read: other users can write it; run: chmod go-w {}", printable(path),
                 shell_quoted(printable(path)));
  }
  return std::nullopt;
}

/// The policy's and a project's file have another name than a user's.
std::optional<Sentence> mistaken_name(const std::string& user_file, const std::string& project) {
  if (user_file.empty()) return std::nullopt;
  const std::string path = folder_of(user_file) + std::string(project_name);
  struct stat facts{};
  if (path == project || ::lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return sentence("{} is not read: what you say for all projects is in {}", printable(path),
                  printable(user_file));
}

}  // namespace

std::string find_project_file(const std::string& working_directory) {
  std::string folder = working_directory;
  while (folder.starts_with('/')) {
    struct stat facts{};
    if (::stat(folder.c_str(), &facts) != 0 || facts.st_uid != ::geteuid()) return {};
    std::string path = (folder == "/" ? "" : folder) + std::string(project_name);
    // Another's file in a folder of ours is not meant for us, and keeps none of ours from counting.
    if (::lstat(path.c_str(), &facts) == 0 && facts.st_uid == ::geteuid()) return path;
    if (folder == "/") return {};
    folder = folder_of(folder);
  }
  return {};
}

Result<std::string> read_config_file(const std::string& path, std::optional<uid_t> by) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return fail_system(errno, "open {}", path);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return fail_system(errno, "look at {}", path);
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, "{} is no file", path);
  if (auto why = distrusted(path, facts, by)) return std::unexpected(*std::move(why));
  const std::string folder = folder_of(path);
  if (::stat(folder.c_str(), &facts) != 0) return fail_system(errno, "look at {}", folder);
  if (auto why = distrusted(folder, facts, by)) {
    return std::unexpected(std::move(*why).at(path));
  }
  return read_all(file.get(), 1 << 20);
}

Result<void> note_isolation_check(const std::string& folder, bool works) {
  if (auto made = make_directories(folder); !made) return made;
  const std::string found = works ? kernel() : "none";
  return write_file_atomically(folder + std::string(isolation_name), found + "\n", 0644);
}

Sentence doubt_of_isolation(const std::string& folder, uid_t owner) {
  const auto found = read_config_file(folder + std::string(isolation_name), owner);
  if (!found && found.error().code() != ErrorCode::not_found) return found.error().said();
  if (!found) return sentence("`sudo berth isolate --check` has not run on this machine");
  if (trimmed(*found) == kernel()) return {};
  if (trimmed(*found) == "none") {
    return sentence("`berth isolate --check` found what does not work in isolated jobs here");
  }
  return sentence(
      "`sudo berth isolate --check` ran under kernel {} and not under {}, which runs now",
      printable(trimmed(*found)), kernel());
}

void add_files(Config& config, const ConfigPlaces& places) {
  const auto add = [&](ConfigSource source, const std::string& path) {
    if (path.empty()) return;
    const auto text = read_config_file(path);
    const bool is_missing = !text && text.error().code() == ErrorCode::not_found;
    config.files.push_back({source, path, !is_missing});
    if (text) {
      config.add_file(source, path, *text);
    } else if (!is_missing) {
      config.mistakes.push_back(text.error());
    }
  };
  add(ConfigSource::machine, places.machine);
  add(ConfigSource::user, places.user);
  std::string project;
  if (!places.working_directory.empty()) project = find_project_file(places.working_directory);
  add(ConfigSource::project, project);
  if (auto remark = mistaken_name(places.user, project)) {
    config.unknown.push_back(*std::move(remark));
  }
}

}  // namespace berth
