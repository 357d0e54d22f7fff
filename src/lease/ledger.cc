#include "lease/ledger.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <map>
#include <ranges>

#include "base/lease_file.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/user_name.h"
#include "lease/lease_text.h"
#include "lease/ledger_directory.h"
#include "lease/ledger_locks.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

/// Far from the numbers that shells and programs use for their own descriptors.
constexpr int lowest_descriptor = 100;
/// Who holds the lock is asked so often: /proc/locks is long on a busy machine.
constexpr Duration holder_interval = milliseconds(500);
/// Own files that each run sweeps: more than one run leaves behind.
constexpr std::size_t swept_at_once = 16;
/// What was begun this long ago and is not locked has no writer any more. One that still lives (it
/// was stopped) begins anew.
constexpr std::int64_t unpublished_ms = 1'000;

std::string hexadecimal(std::uint64_t value, int digits) {
  return fmt::format("{:0{}x}", value, digits);
}

/// Differs between machines and between boots of one machine, names neither. FNV-1a.
std::uint32_t host_mark() {
  const auto machine = read_file("/etc/machine-id", 4096);
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 4096);
  std::uint32_t mark = 2166136261U;
  for (const char c : machine.value_or("") + boot.value_or("")) {
    mark = (mark ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return mark;
}

/// Never used before and never again.
Result<std::string> new_id() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return fail_system(errno, "get a random number for a name");
  }
  return hexadecimal(host_mark(), 8) + "-" + hexadecimal(random, 16);
}

/// A place behind all tickets there are, also where the date was set back since they came.
std::int64_t next_place(const std::vector<std::string>& names, WallTime now) {
  constexpr std::int64_t step_when_set_back = 1'000'000'000;
  std::int64_t last = 0;
  for (const std::string& name : names) {
    if (name.starts_with(ticket_prefix)) last = std::max(last, place_in(name));
  }
  const std::int64_t now_ns = now.unix_ms * 1'000'000;
  if (now_ns > last) return now_ns;
  // The last one's st_ctime is a little later than the place in its name.
  const bool set_back = last - now_ns > step_when_set_back;
  return last + (set_back ? step_when_set_back : 1);
}

Result<Fd> moved_up(Fd fd) {
  Fd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest_descriptor));
  if (high.is_open()) return high;
  if (errno == EINVAL || errno == EMFILE) {
    return fail(
        ErrorCode::invalid,
        "no file descriptor of number {} or above can be had: raise the limit (`ulimit -n 1024`)",
        lowest_descriptor);
  }
  return fail_system(errno, "duplicate a descriptor");
}

/// A failure here leaves no public name behind. A temporary name is removed now, or swept later
/// where this process dies half-way. Any reader of the file could refuse it
/// a lock: it has all of them before that.
Result<Fd> publish_once(int directory, const std::string& name, const std::string& text,
                        std::initializer_list<LockRange> locks) {
  const std::string temporary = std::string(temporary_prefix) + name;
  Fd made(::openat(directory, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  if (!made.is_open()) return fail_system(errno, "create a file in the ledger");
  auto publishing = [&]() -> Result<Fd> {
    auto fd = moved_up(std::move(made));
    if (!fd) return fd;
    for (const LockRange& range : locks) {
      if (auto locked = take_ofd_lock(fd->get(), range); !locked) {
        return std::unexpected(std::move(locked).error());
      }
    }
    if (auto written = write_all(fd->get(), text); !written) {
      return std::unexpected(std::move(written).error());
    }
    if (::fchmod(fd->get(), 0644) != 0) return fail_system(errno, "make it readable");
    if (::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
      return fail_system(errno, "publish it");
    }
    return fd;
  };
  auto published = publishing();
  if (!published) ::unlinkat(directory, temporary.c_str(), 0);
  return published;
}

/// A sweep may take the file away before its lock is there: then once more.
Result<Fd> publish(int directory, const std::string& name, const std::string& text,
                   std::initializer_list<LockRange> locks) {
  auto published = publish_once(directory, name, text, locks);
  if (published || published.error().code() != ErrorCode::not_found) return published;
  return publish_once(directory, name, text, locks);
}

/// Another user's process, by those files of /proc that cannot block.
Sentence describe_process(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return sentence("process {}", pid);
  const auto name = read_file(folder + "/comm", 4096);
  return sentence("process {} ({}) of {}", pid, printable(trimmed(name.value_or("?"))),
                  local_user_name(facts.st_uid));
}

/// The holder of the lock while somebody waits for it.
class HolderWatch {
 public:
  HolderWatch(const std::string& directory, int lock, Instant now)
      : path_(directory + "/" + host_lock_name), lock_(lock), since_(now) {}

  /// Whether it has been in the same hands for so long.
  bool is_held_for(Duration patience, Instant now) {
    if (!looked_ || now - *looked_ >= holder_interval || now - since_ >= patience) look(now);
    return now - since_ >= patience;
  }

  [[nodiscard]] Error error(Instant now) const {
    const std::string held =
        fmt::format("{:.1f}", static_cast<double>((now - since_).count()) / 1e9);
    // Its taker may be gone while its children hold it. Then nothing is to be continued there.
    if (!holder_) {
      return {ErrorCode::timeout,
              sentence("the lock {} was held for {} s by processes that cannot be seen from here "
                       "(in a container?). `fuser {}` as root may name them",
                       path_, held, path_)};
    }
    if (!was_stopped_) {
      return {ErrorCode::timeout,
              sentence("the lock {} was held for {} s by {}, which berth only ever does for "
                       "milliseconds. Ask its owner what it does. `berth run --wait` waits for it",
                       path_, held, describe_process(holder_->pid))};
    }
    return {ErrorCode::timeout,
            sentence("the lock {} was held for {} s by {}, which is stopped. Its owner can let it "
                     "go on with `kill -CONT {}`",
                     path_, held, describe_process(holder_->pid), holder_->pid)};
  }

 private:
  void look(Instant now) {
    const auto pid = flock_holder(lock_);
    const auto stat = pid ? read_process_stat(*pid, "/proc") : std::nullopt;
    const auto holder = stat ? std::optional(stat->id) : std::nullopt;
    const bool is_stopped = stat && (stat->state == 'T' || stat->state == 't');
    if (looked_ && holder != holder_) since_ = now;
    was_stopped_ = is_stopped && (was_stopped_ || !looked_ || holder != holder_);
    holder_ = holder;
    looked_ = now;
  }

  std::string path_;
  int lock_;
  Instant since_;  // when the one who holds it now was not known to hold it yet
  std::optional<Instant> looked_;
  std::optional<ProcessId> holder_;
  bool was_stopped_ = false;  // each time it was looked at
};

/// Whose files take most room there: a neighbour may have filled it.
std::string who_fills(const std::string& directory) {
  constexpr std::size_t most_looked_at = 10'000;
  struct Share {
    std::int64_t bytes = 0;
    int files = 0;
    auto operator<=>(const Share&) const = default;
  };
  std::map<uid_t, Share> shares;
  for (const std::string& name : entries_in(directory) | std::views::take(most_looked_at)) {
    struct stat facts{};
    if (::lstat((directory + "/" + name).c_str(), &facts) != 0) continue;
    Share& share = shares[facts.st_uid];
    share.bytes += facts.st_blocks * 512;
    ++share.files;
  }
  const auto most = std::ranges::max_element(shares, {}, &std::pair<const uid_t, Share>::second);
  return most == shares.end() ? "?" : local_user_name(most->first);
}

Error no_room(Error error, const LedgerPlace& place) {
  const Error told =
      std::move(error).because(sentence("writing into the ledger {}", place.directory));
  if (told.code() == ErrorCode::no_permission) {
    return Error(told.code(), "{}; name a directory in {} that you may write", told.said(),
                 "BERTH_LEDGER");
  }
  if (told.code() != ErrorCode::io) return told;
  return Error(told.code(),
               "{}. Most room in it is taken by files of {}. `df -h`, `df -i` and `quota` say "
               "whether there is room, the kernel log whether the disk fails",
               told.said(), who_fills(place.directory));
}

}  // namespace

Ledger::Ledger(LedgerPlace place, Fd directory, Clock& clock)
    : place_(std::move(place)), directory_(std::move(directory)), clock_(&clock) {
  set_policy(nullptr);
}

void Ledger::set_policy(std::shared_ptr<const Policy> policy) {
  policy_ = std::move(policy);
  if (policy_) return;
  // In a ledger of one's own nobody else is gone before.
  Policy none;
  if (place_.kind == LedgerPlace::Kind::own) none.highest_by_itself = Priority::high;
  policy_ = std::make_shared<const Policy>(std::move(none));
}

Result<Ledger> Ledger::open(LedgerPlace place, Clock& clock) {
  auto directory = open_ledger_directory(place);
  if (!directory) {
    return std::unexpected(
        std::move(directory).error().because(sentence("opening the ledger {}", place.directory)));
  }
  return Ledger(std::move(place), *std::move(directory), clock);
}

Result<HostLock> Ledger::lock(Duration patience, const std::function<bool()>& interrupted) const {
  while (true) {
    auto fd = open_host_lock(directory_.get());
    if (!fd) return std::unexpected(std::move(fd).error());
    HolderWatch holder(place_.directory, fd->get(), clock_->now());
    const auto is_over = [&] {
      return (interrupted && interrupted()) || holder.is_held_for(patience, clock_->now());
    };
    if (auto taken = take_flock(fd->get(), *clock_, Instant::max(), is_over); !taken) {
      if (taken.error().code() != ErrorCode::timeout) return std::unexpected(taken.error());
      return std::unexpected(holder.error(clock_->now()));
    }
    // Somebody may have replaced the file while we waited: then it locks nothing.
    if (is_named(fd->get(), directory_.get(), host_lock_name)) return HostLock(*std::move(fd));
    if (interrupted && interrupted()) {
      return fail(ErrorCode::timeout, "{}/{} is replaced again and again", place_.directory,
                  std::string_view(host_lock_name));
    }
  }
}

Result<Lease> Ledger::claim(const HostLock& lock, Claim wanted,
                            std::optional<std::chrono::milliseconds> time_limit) {
  static_cast<void>(lock);  // holding it is the point
  wanted.uid = ::geteuid();
  auto text = write_lease({.steady_ms = steady_ms(clock_->now()),
                           .time_limit = time_limit,
                           .claim = std::move(wanted)});
  if (!text) return std::unexpected(std::move(text).error());
  auto id = new_id();
  if (!id) return std::unexpected(std::move(id).error());
  const std::string name = std::string(lease_prefix) + *id;
  auto fd = publish(directory_.get(), name, *text, {lease_life});
  if (!fd) return std::unexpected(no_room(std::move(fd).error(), place_));
  return Lease(*std::move(id), name, *std::move(fd));
}

Result<void> Ledger::extend(const std::string& lease, std::chrono::milliseconds time_limit) const {
  const std::string name = std::string(lease_prefix) + lease;
  const Fd fd(::openat(directory_.get(), name.c_str(),
                       O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_open()) return fail_system(errno, "open the lease {}", lease);
  struct stat facts{};
  const bool is_own = ::fstat(fd.get(), &facts) == 0 && facts.st_uid == ::geteuid();
  if (!is_own) return fail(ErrorCode::no_permission, "the lease {} is another user's", lease);
  const std::string line = write_time_limit(time_limit);
  // What is behind the beginning nobody reads.
  if (static_cast<std::size_t>(facts.st_size) + line.size() > largest_file) {
    return fail(ErrorCode::unsupported, "the lease {} was extended too often", lease);
  }
  return write_all(fd.get(), line);
}

Result<Ticket> Ledger::queue(Waiter wanted, std::vector<DeviceId> devices) const {
  const auto names = names_in(directory_.get());
  if (!names) return std::unexpected(names.error());
  auto random = new_id();
  if (!random) return std::unexpected(std::move(random).error());
  const std::int64_t place = next_place(*names, clock_->wall_now());
  const std::string id = fmt::format("{:019}-{}{}", place, *random, name_suffix(wanted.priority));
  const Instant now = clock_->now();
  wanted.uid = ::geteuid();
  wanted.process = own_process_id();
  const std::string text = write_ticket({.not_before_ns = place - 1,
                                         .steady_ms = steady_ms(now),
                                         .waiter = std::move(wanted),
                                         .devices = devices});
  auto fd = publish(directory_.get(), std::string(ticket_prefix) + id, text,
                    {ticket_life, locked_from_beat(now)});
  if (!fd) return std::unexpected(no_room(std::move(fd).error(), place_));
  return Ticket(id, std::move(devices), *std::move(fd), now, *this);
}

namespace {

/// Removes the file if it is one of the ledger's, this user's (or this user is root), and dead.
/// Tells whether it had to be looked at.
bool sweep_file(int directory, const std::string& name, WallTime now, std::size_t& removed) {
  const bool is_unpublished = name.starts_with(temporary_prefix);
  if (!is_unpublished && !name.starts_with(lease_prefix) && !name.starts_with(ticket_prefix)) {
    return false;
  }
  struct stat facts{};
  if (::fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
      (facts.st_uid != ::geteuid() && ::geteuid() != 0) || !S_ISREG(facts.st_mode)) {
    return false;
  }
  // Somebody may be about to lock and publish it.
  const std::int64_t begun =
      std::int64_t{facts.st_ctim.tv_sec} * 1000 + facts.st_ctim.tv_nsec / 1'000'000;
  const std::int64_t age = now.unix_ms - begun;
  if (is_unpublished && age < unpublished_ms) return false;
  const auto fd = open_entry(directory, name);
  if (!fd) return true;
  const auto locked = is_ofd_locked(fd->get());
  if (!locked || *locked || !is_named(fd->get(), directory, name)) return true;
  if (::unlinkat(directory, name.c_str(), 0) == 0) ++removed;
  return true;
}

}  // namespace

std::size_t Ledger::sweep() const {
  const auto names = names_in(directory_.get());
  if (!names || names->empty()) return 0;
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) random = 0;
  std::size_t looked = 0;
  std::size_t removed = 0;
  for (std::size_t i = 0; i < names->size() && looked < swept_at_once; ++i) {
    const std::string& name = (*names)[(random + i) % names->size()];
    if (sweep_file(directory_.get(), name, clock_->wall_now(), removed)) ++looked;
  }
  return removed;
}

void Ledger::sweep_ticket(const std::string& id) const {
  std::size_t removed = 0;
  static_cast<void>(
      sweep_file(directory_.get(), std::string(ticket_prefix) + id, clock_->wall_now(), removed));
}

bool is_reservation_command(const std::vector<std::string>& command) {
  return command.size() == 3 && command[1] == "reserve" && command[2] == "--hold";
}

std::string command_for_others(const std::vector<std::string>& masked, const std::string& proc) {
  const auto mounts = read_file(proc + "/self/mountinfo", 16 << 20);
  if (!mounts || !proc_shows_commands(*mounts)) return {};
  if (is_reservation_command(masked)) return "berth reserve";
  constexpr int longest_shown = 1000;  // it is for people to read, and a ledger is small
  return cut_to_width(printable(shell_joined(masked)), longest_shown, false);
}

Lease::Lease(std::string id, std::string path, Fd fd)
    : id_(std::move(id)), path_(std::move(path)), fd_(std::move(fd)) {}

Result<void> Lease::describe(const Claim& known) {
  struct stat before{};
  if (::fstat(fd_.get(), &before) != 0) return fail_system(errno, "examine the lease");
  const std::string lines = write_description(known);
  const ssize_t wrote = ::pwrite(fd_.get(), lines.data(), lines.size(), before.st_size);
  if (wrote == static_cast<ssize_t>(lines.size())) return {};
  const int why = wrote < 0 ? errno : ENOSPC;
  if (::ftruncate(fd_.get(), before.st_size) != 0) {
    return fail_system(errno, "shorten the lease");
  }
  return fail_system(why, "describe the lease");
}

std::optional<std::chrono::milliseconds> Lease::time_limit() const {
  const auto text = read_beginning(fd_.get());
  const auto lease = text ? parse_lease(*text) : std::unexpected(text.error());
  return lease ? lease->time_limit : std::nullopt;
}

Result<void> Lease::end(const Ledger& ledger) {
  if (!fd_.is_open()) return {};
  auto removed = remove_lease_file(fd_.get(), ledger.directory(), path_);
  if (removed) fd_.close();
  return removed;
}

Ticket::Ticket(std::string id, std::vector<DeviceId> devices, Fd fd, Instant awake,
               const Ledger& ledger)
    : id_(std::move(id)),
      devices_(std::move(devices)),
      fd_(std::move(fd)),
      ledger_(&ledger),
      awake_(awake),
      changes_(std::min<std::size_t>(first_gathered + devices_.size(), until_flag)),
      made_(awake) {}

Ticket::~Ticket() { leave(); }

void Ticket::leave() {
  if (!fd_.is_open()) return;
  const std::string name = std::string(ticket_prefix) + id_;
  if (is_named(fd_.get(), ledger_->directory(), name)) {
    ::unlinkat(ledger_->directory(), name.c_str(), 0);
  }
  fd_.close();
}

void Ticket::set_flag(std::size_t flag, bool on, off_t byte_0_1) {
  if (flag >= changes_.size()) return;
  off_t& changes = changes_[flag];
  if ((changes % 2 == 1) == on || changes + 1 >= flag_length) return;
  if (drop_ofd_lock(fd_.get(), flag_change(flag, changes))) ++changes;
  const LockRange old{.start = byte_0_1, .length = 1};
  static_cast<void>(on ? take_ofd_lock(fd_.get(), old) : drop_ofd_lock(fd_.get(), old));
}

void Ticket::set_gathered(const std::vector<DeviceId>& devices) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const bool wanted = std::find(devices.begin(), devices.end(), devices_[i]) != devices.end();
    set_flag(first_gathered + i, wanted, ticket_gathered_0_1.start + static_cast<off_t>(i));
  }
}

void Ticket::set_gathers_until(Instant until) {
  const off_t seconds = std::chrono::ceil<std::chrono::seconds>(until - made_).count();
  if (seconds <= until_ || seconds >= flag_length) return;
  const off_t start = flag_change(until_flag, until_).start;
  if (drop_ofd_lock(fd_.get(), {.start = start, .length = seconds - until_})) until_ = seconds;
}

void Ticket::set_passed(bool passed) { set_flag(passed_flag, passed, ticket_passed_0_1.start); }

void Ticket::beat(Instant now) {
  const off_t before = locked_from_beat(awake_).start;
  const off_t after = locked_from_beat(now).start;
  if (after <= before) return;
  if (drop_ofd_lock(fd_.get(), {.start = before, .length = after - before})) awake_ = now;
}

}  // namespace berth
