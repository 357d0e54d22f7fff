#include "lease/planned.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/lock.h"
#include "base/user_name.h"
#include "lease/ledger_directory.h"

namespace berth {

namespace {

/// Begins as what no berth takes for a claim.
constexpr const char* directory_name = ".new-planned";
constexpr const char* lock_name = "service.lock";
constexpr std::string_view planned_prefix = "at-";
constexpr std::string_view limit_prefix = "limit-";
constexpr std::size_t digits = 8;
constexpr mode_t everybodys = 01777;

bool is_id(std::string_view name, std::string_view prefix) {
  return name.size() == prefix.size() + digits && name.starts_with(prefix) && is_plain_id(name);
}

Result<std::string> random_name(std::string_view prefix) {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return fail_system(errno, "get a random number for a name");
  }
  return fmt::format("{}{:08x}", prefix, random);
}

Result<Fd> open_at(int within, const char* name, int flags) {
  Fd fd(::openat(within, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  if (!fd.is_open()) return fail_system(errno, "open {}", name);
  return fd;
}

/// What nobody but its owner can have written.
bool is_owners_alone(const struct stat& facts) {
  return S_ISREG(facts.st_mode) && facts.st_nlink == 1 && (facts.st_mode & 022U) == 0 &&
         facts.st_size <= static_cast<off_t>(largest_file);
}

bool is_of(int fd, uid_t keeper, mode_t kind) {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 && facts.st_uid == keeper && (facts.st_mode & S_IFMT) == kind;
}

Result<void> write_new(int directory, const std::string& name, const std::string& text) {
  const Fd fd(::openat(directory, name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.is_open()) return fail_system(errno, "create {}", name);
  (void)::fchmod(fd.get(), 0644);
  return write_all(fd.get(), text);
}

}  // namespace

Result<PlannedPlace> PlannedPlace::open(const LedgerPlace& ledger, uid_t keeper) {
  const auto within = open_fd(ledger.directory, O_RDONLY | O_DIRECTORY);
  if (!within) return std::unexpected(within.error());
  auto directory = open_at(within->get(), directory_name, O_RDONLY | O_DIRECTORY);
  if (!directory) return std::unexpected(std::move(directory).error());
  auto lock = open_at(directory->get(), lock_name, O_RDONLY);
  if (!lock) return std::unexpected(std::move(lock).error());
  if (is_of(directory->get(), keeper, S_IFDIR) && is_of(lock->get(), keeper, S_IFREG)) {
    return PlannedPlace(*std::move(directory), *std::move(lock));
  }
  return fail(ErrorCode::no_permission, "{}/{} is not root's: root can remove it", ledger.directory,
              directory_name);
}

Result<PlannedPlace> PlannedPlace::keep(const LedgerPlace& ledger) {
  const uid_t keeper = ::geteuid();
  const auto within = open_fd(ledger.directory, O_RDONLY | O_DIRECTORY);
  if (!within) return std::unexpected(within.error());
  struct stat facts{};
  const bool is_there = ::fstatat(within->get(), directory_name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && (!S_ISDIR(facts.st_mode) || facts.st_uid != keeper)) {
    const auto aside = random_name(".new-aside-");
    if (!aside) return std::unexpected(aside.error());
    if (::renameat(within->get(), directory_name, within->get(), aside->c_str()) != 0) {
      return fail_system(errno, "move aside {}", directory_name);
    }
  }
  if (::mkdirat(within->get(), directory_name, 0755) != 0 && errno != EEXIST) {
    return fail_system(errno, "make the directory {}", directory_name);
  }
  auto directory = open_at(within->get(), directory_name, O_RDONLY | O_DIRECTORY);
  if (!directory) return std::unexpected(std::move(directory).error());
  // The lock is there before anybody else can make one.
  auto lock = open_at(directory->get(), lock_name, O_RDWR | O_CREAT);
  if (!lock) return std::unexpected(std::move(lock).error());
  if (!is_of(directory->get(), keeper, S_IFDIR) || !is_of(lock->get(), keeper, S_IFREG)) {
    return fail(ErrorCode::no_permission, "{} is another user's", directory_name);
  }
  if (auto taken = take_ofd_lock(lock->get()); !taken) return std::unexpected(taken.error());
  if (::fchmod(directory->get(), everybodys) != 0) {
    return fail_system(errno, "set the mode of {}", directory_name);
  }
  return PlannedPlace(*std::move(directory), *std::move(lock));
}

bool PlannedPlace::is_kept() const {
  const auto locked = is_ofd_locked(lock_.get());
  return locked && *locked;
}

struct PlannedPlace::Entry {
  std::string id;
  uid_t uid = 0;
  std::string text;
};

Result<std::vector<PlannedPlace::Entry>> PlannedPlace::entries(std::string_view prefix) const {
  const auto names = names_in(directory_.get());
  if (!names) return std::unexpected(names.error());
  std::vector<Entry> found;
  for (const std::string& name : *names) {
    if (!is_id(name, prefix)) continue;
    const auto fd = open_entry(directory_.get(), name);
    struct stat facts{};
    if (!fd || ::fstat(fd->get(), &facts) != 0 || !is_owners_alone(facts)) continue;
    if (auto text = read_beginning(fd->get())) {
      found.push_back({.id = name, .uid = facts.st_uid, .text = *std::move(text)});
    }
  }
  return found;
}

Result<std::vector<Planned>> PlannedPlace::all() const {
  const auto files = entries(planned_prefix);
  if (!files) return std::unexpected(files.error());
  std::vector<Planned> found;
  for (const Entry& file : *files) {
    auto planned = parse_planned(file.text);
    if (!planned) continue;
    found.push_back({.id = file.id, .uid = file.uid, .text = *std::move(planned)});
  }
  std::ranges::sort(found, {}, [](const Planned& one) { return std::tie(one.text.at, one.id); });
  std::map<uid_t, std::size_t> counted;
  std::erase_if(found, [&](const Planned& one) { return ++counted[one.uid] > most_planned_each; });
  for (Planned& one : found) one.user = local_user_name(one.uid);
  return found;
}

Result<std::vector<AskedLimit>> PlannedPlace::limits() const {
  const auto files = entries(limit_prefix);
  struct stat place{};
  if (!files) return std::unexpected(files.error());
  if (::fstat(directory_.get(), &place) != 0) return fail_system(errno, "look at the directory");
  std::vector<AskedLimit> found;
  for (const Entry& file : *files) {
    auto limit = parse_limit(file.text);
    if (!limit) continue;
    const bool is_answered =
        file.uid == place.st_uid && !(limit->group.empty() && limit->failed.empty());
    if (!is_answered) {
      *limit = {.process = limit->process,
                .limits = std::move(limit->limits),
                .instead_of = std::move(limit->instead_of)};
    }
    found.push_back({.id = file.id,
                     .uid = is_answered ? limit->uid : file.uid,
                     .is_answered = is_answered,
                     .text = *std::move(limit)});
  }
  std::ranges::sort(found, {}, [](const AskedLimit& one) {
    return std::tuple(!one.is_answered, std::string_view(one.id));
  });
  std::map<uid_t, std::size_t> counted;
  std::erase_if(found,
                [&](const AskedLimit& one) { return ++counted[one.uid] > most_limits_each; });
  return found;
}

Result<std::string> PlannedPlace::add(std::string_view prefix, const std::string& text) const {
  auto id = random_name(prefix);
  if (!id) return id;
  const auto written = write_new(directory_.get(), *id, text);
  if (written) return id;
  (void)remove(*id);
  return std::unexpected(written.error());
}

Result<std::string> PlannedPlace::add(const PlannedText& text) const {
  return add(planned_prefix, write_planned(text));
}

Result<std::string> PlannedPlace::add(const LimitText& text) const {
  return add(limit_prefix, write_limit(text));
}

Result<void> PlannedPlace::write_anew(const std::string& id, const std::string& text) const {
  const auto beside = random_name(".new-");
  if (!beside) return std::unexpected(beside.error());
  if (auto written = write_new(directory_.get(), *beside, text); !written) {
    ::unlinkat(directory_.get(), beside->c_str(), 0);
    return written;
  }
  if (::renameat(directory_.get(), beside->c_str(), directory_.get(), id.c_str()) == 0) return {};
  const int why = errno;
  ::unlinkat(directory_.get(), beside->c_str(), 0);
  return fail_system(why, "write {}", id);
}

Result<void> PlannedPlace::change(const std::string& id, const PlannedText& text) const {
  return write_anew(id, write_planned(text));
}

Result<void> PlannedPlace::change(const std::string& id, const LimitText& text) const {
  return write_anew(id, write_limit(text));
}

Result<void> PlannedPlace::remove(const std::string& id) const {
  const bool is_one = is_id(id, planned_prefix) || is_id(id, limit_prefix);
  if (is_one && ::unlinkat(directory_.get(), id.c_str(), 0) == 0) return {};
  return fail_system(is_one ? errno : ENOENT, "remove {}", id);
}

}  // namespace berth
