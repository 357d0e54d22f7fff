#include "lease/ledger.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/lock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "lease/lease_text.h"
#include "lease/ledger_directory.h"
#include "lease/ledger_locks.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

/// Far from the numbers that shells and programs use for their own descriptors.
constexpr int lowest_descriptor = 100;
/// Leaving the queue may wait this long for the host lock.
constexpr Duration patience_to_leave = milliseconds(500);

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
    return fail_system("get a random number for a name", errno);
  }
  return hexadecimal(host_mark(), 8) + "-" + hexadecimal(random, 16);
}

/// A place behind all tickets there are, also where the date was set back since they came. The
/// name only carries it so that a long queue can be put in order by listing it; what counts is the
/// file (ledger_read.cc).
std::int64_t next_place(const std::vector<std::string>& names, WallTime now) {
  constexpr std::size_t digits = 19;
  constexpr std::int64_t step_when_set_back = 1'000'000'000;
  std::int64_t last = 0;
  for (const std::string& name : names) {
    if (!name.starts_with(ticket_prefix)) continue;
    const auto place = parse_signed(std::string_view(name).substr(ticket_prefix.size(), digits));
    if (place && *place <= furthest_place) last = std::max(last, *place);
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
    return fail(ErrorCode::io, trf("no file descriptor of number {} or above can be had: raise the "
                                   "limit (`ulimit -n 1024`)",
                                   lowest_descriptor));
  }
  return fail_system("duplicate a descriptor", errno);
}

/// What goes wrong here leaves no public name behind: a temporary name at most, which is removed
/// now, or swept later where this process dies half-way.
Result<Fd> publish(int directory, const std::string& name, const std::string& text,
                   ByteRange life) {
  const std::string temporary = std::string(temporary_prefix) + name;
  Fd made(::openat(directory, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  if (!made.is_open()) return fail_system("create a file in the ledger", errno);
  auto publishing = [&]() -> Result<Fd> {
    auto fd = moved_up(std::move(made));
    if (!fd) return fd;
    if (auto locked = take_ofd_lock(fd->get(), life); !locked) {
      return std::unexpected(std::move(locked).error());
    }
    if (auto written = write_all(fd->get(), text); !written) {
      return std::unexpected(std::move(written).error());
    }
    if (::fchmod(fd->get(), 0644) != 0) return fail_system("make it readable", errno);
    if (::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
      return fail_system("publish it", errno);
    }
    return fd;
  };
  auto published = publishing();
  if (!published) ::unlinkat(directory, temporary.c_str(), 0);
  return published;
}

/// Somebody else's process, by what of /proc cannot block.
std::string describe_process(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return trf("process {}", pid);
  const auto name = read_file(folder + "/comm", 4096);
  return trf("process {} ({}) of {}", pid, printable(trimmed(name.value_or("?"))),
             local_user_name(facts.st_uid));
}

Error held_too_long(const LedgerPlace& place, int fd, Duration patience) {
  const auto seconds = static_cast<double>(patience.count()) / 1e9;
  const auto holder = flock_holder(fd);
  // Who took it may be gone and what it started hold it: nothing to be continued or ended there.
  if (!holder || !identify_process(*holder)) {
    return {ErrorCode::timeout,
            trf("the lock {}/{} was held for {:.1f} s by a process that cannot be seen from here "
                "(in a container?); `fuser {}/{}` as root may name it",
                place.directory, std::string_view(host_lock_name), seconds, place.directory,
                std::string_view(host_lock_name))};
  }
  return {ErrorCode::timeout,
          trf("the lock {}/{} was held for {:.1f} s by {}, which is stopped or stuck: continue it "
              "(`kill -CONT {}`) or end it (`kill -KILL {}`), or ask its owner to",
              place.directory, std::string_view(host_lock_name), seconds, describe_process(*holder),
              *holder, *holder)};
}

Error no_room(Error error, const LedgerPlace& place) {
  const std::string attempted = trf("writing into the ledger {}", place.directory);
  return std::move(error).because(attempted);
}

}  // namespace

Ledger::Ledger(LedgerPlace place, Fd directory, Clock& clock)
    : place_(std::move(place)), directory_(std::move(directory)), clock_(&clock) {}

Result<Ledger> Ledger::open(LedgerPlace place, Clock& clock) {
  auto directory = open_ledger_directory(place);
  if (!directory) {
    return std::unexpected(
        std::move(directory).error().because(trf("opening the ledger {}", place.directory)));
  }
  return Ledger(std::move(place), *std::move(directory), clock);
}

Result<HostLock> Ledger::lock(Duration patience, const std::function<bool()>& interrupted) const {
  const Instant deadline = clock_->now() + patience;
  while (true) {
    auto fd = open_host_lock(directory_.get());
    if (!fd) return std::unexpected(std::move(fd).error());
    if (auto taken = take_flock(fd->get(), *clock_, deadline, interrupted); !taken) {
      if (taken.error().code() != ErrorCode::timeout) return std::unexpected(taken.error());
      return std::unexpected(held_too_long(place_, fd->get(), patience));
    }
    // Somebody may have replaced the file while we waited: then it locks nothing.
    if (is_named(fd->get(), directory_.get(), host_lock_name)) return HostLock(*std::move(fd));
    if (clock_->now() >= deadline) {
      return fail(ErrorCode::timeout, trf("{}/{} is replaced again and again", place_.directory,
                                          std::string_view(host_lock_name)));
    }
  }
}

Result<Lease> Ledger::claim(const HostLock& lock, const LeaseTerms& terms) {
  static_cast<void>(lock);  // holding it is the point
  auto text = write_lease({.uid = ::geteuid(),
                           .devices = terms.devices,
                           .run = terms.run,
                           .command = terms.command,
                           .steady_ms = steady_ms(clock_->now())});
  if (!text) return std::unexpected(std::move(text).error());
  auto id = new_id();
  if (!id) return std::unexpected(std::move(id).error());
  const std::string name = std::string(lease_prefix) + *id;
  auto fd = publish(directory_.get(), name, *text, lease_life);
  if (!fd) return std::unexpected(no_room(std::move(fd).error(), place_));
  return Lease(*std::move(id), name, *std::move(fd));
}

Result<Ticket> Ledger::queue(const HostLock& lock, const TicketTerms& terms) {
  static_cast<void>(lock);  // holding it is the point
  const auto names = names_in(directory_.get());
  if (!names) return std::unexpected(names.error());
  auto random = new_id();
  if (!random) return std::unexpected(std::move(random).error());
  const std::int64_t place = next_place(*names, clock_->wall_now());
  const std::string id = fmt::format("{:019}-{}", place, *random);
  const std::string text = write_ticket({.uid = ::geteuid(),
                                         .not_before_ns = place - 1,
                                         .steady_ms = steady_ms(clock_->now()),
                                         .process = own_process_id(),
                                         .command = terms.command,
                                         .wants = terms.wants,
                                         .request = terms.request,
                                         .devices = terms.devices});
  auto fd = publish(directory_.get(), std::string(ticket_prefix) + id, text, ticket_life);
  if (!fd) return std::unexpected(no_room(std::move(fd).error(), place_));
  Ticket ticket(id, terms.devices, *std::move(fd), *this);
  if (auto shown = ticket.beat(clock_->now()); !shown) {
    return std::unexpected(std::move(shown).error());
  }
  return ticket;
}

Result<std::size_t> Ledger::sweep(const HostLock& lock) {
  static_cast<void>(lock);  // nothing can be half-way published now
  const auto names = names_in(directory_.get());
  if (!names) return std::unexpected(names.error());
  std::size_t removed = 0;
  for (const std::string& name : *names) {
    if (!name.starts_with(lease_prefix) && !name.starts_with(ticket_prefix) &&
        !name.starts_with(temporary_prefix)) {
      continue;
    }
    struct stat facts{};
    if (::fstatat(directory_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        facts.st_uid != ::geteuid() || !S_ISREG(facts.st_mode)) {
      continue;
    }
    const auto fd = open_entry(directory_.get(), name);
    if (!fd) continue;
    const auto locked = is_ofd_locked(fd->get());
    if (!locked || *locked || !is_named(fd->get(), directory_.get(), name)) continue;
    if (::unlinkat(directory_.get(), name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

Lease::Lease(std::string id, std::string path, Fd fd)
    : id_(std::move(id)), path_(std::move(path)), fd_(std::move(fd)) {}

Result<void> Lease::describe(ProcessId keeper, std::optional<ProcessId> job) {
  struct stat before{};
  if (::fstat(fd_.get(), &before) != 0) return fail_system("examine the lease", errno);
  const std::string lines = write_description(keeper, job);
  const ssize_t wrote = ::pwrite(fd_.get(), lines.data(), lines.size(), before.st_size);
  if (wrote == static_cast<ssize_t>(lines.size())) return {};
  const int why = wrote < 0 ? errno : ENOSPC;
  if (::ftruncate(fd_.get(), before.st_size) != 0) {
    return fail_system("shorten the lease", errno);
  }
  return fail_system("describe the lease", why);
}

Result<void> Lease::end(Ledger& ledger, Duration patience) {
  if (!fd_.is_open()) return {};
  const auto lock = ledger.lock(patience);
  if (!lock) return std::unexpected(lock.error());
  if (is_named(fd_.get(), ledger.directory(), path_) &&
      ::unlinkat(ledger.directory(), path_.c_str(), 0) != 0) {
    return fail_system("remove the lease " + path_, errno);
  }
  fd_.close();
  return {};
}

Ticket::Ticket(std::string id, std::vector<DeviceId> devices, Fd fd, const Ledger& ledger)
    : id_(std::move(id)), devices_(std::move(devices)), fd_(std::move(fd)), ledger_(&ledger) {}

Ticket::~Ticket() {
  if (!fd_.is_open()) return;
  const auto lock = ledger_->lock(patience_to_leave);
  if (lock) static_cast<void>(leave(*lock));
}

Result<void> Ticket::leave(const HostLock& lock) {
  static_cast<void>(lock);  // holding it is the point
  if (!fd_.is_open()) return {};
  const std::string name = std::string(ticket_prefix) + id_;
  const bool ours = is_named(fd_.get(), ledger_->directory(), name);
  if (ours && ::unlinkat(ledger_->directory(), name.c_str(), 0) != 0) {
    return fail_system("leave the queue", errno);
  }
  fd_.close();
  return {};
}

Result<void> Ticket::set_gathered(const std::vector<DeviceId>& devices) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const bool wanted = std::find(devices.begin(), devices.end(), devices_[i]) != devices.end();
    const auto done = wanted ? take_ofd_lock(fd_.get(), gathered_byte(i))
                             : drop_ofd_lock(fd_.get(), gathered_byte(i));
    if (!done) return done;
  }
  return {};
}

Result<void> Ticket::set_passed(bool passed) {
  return passed ? take_ofd_lock(fd_.get(), ticket_passed) : drop_ofd_lock(fd_.get(), ticket_passed);
}

Result<void> Ticket::beat(Instant now) {
  if (last_beat_ && beat_byte(*last_beat_).start == beat_byte(now).start) return {};
  // The new one first, so that no reader sees none.
  if (auto taken = take_ofd_lock(fd_.get(), beat_byte(now)); !taken) return taken;
  const auto before = std::exchange(last_beat_, now);
  if (!before) return {};
  return drop_ofd_lock(fd_.get(), beat_byte(*before));
}

}  // namespace berth
