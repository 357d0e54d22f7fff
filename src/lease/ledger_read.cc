// Reading the ledger: every file in it may be a stranger's. Nothing here takes a lock.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/sentence.h"
#include "base/user_name.h"
#include "lease/lease_text.h"
#include "lease/ledger.h"
#include "lease/ledger_directory.h"
#include "lease/ledger_locks.h"

namespace berth {

namespace {

struct Entry {
  struct stat facts{};
  std::string text;
};

Problem problem_with(const std::string& name, std::string code, const Sentence& message,
                     const LedgerPlace& place) {
  return {.source = "ledger",
          .code = std::move(code),
          .message = sentence("{}/{}: {}", place.directory, name, message),
          .remedy = sentence("its owner (or root) can remove it once nothing holds it: {}/{}",
                             place.directory, name)};
}

/// Nothing: the file is gone, or dead, or no file of a ledger at all (then `problems` says so).
/// io: it could not be read, and may be alive.
Result<std::optional<Entry>> read_living(int directory, const std::string& name, LockRange life,
                                         const LedgerPlace& place, std::vector<Problem>& problems,
                                         Fd& keep) {
  const auto nothing = [] { return std::optional<Entry>(); };
  auto fd = open_entry(directory, name);
  if (!fd && fd.error().code() == ErrorCode::io) return std::unexpected(fd.error());
  if (!fd) {
    if (fd.error().code() != ErrorCode::not_found) {
      problems.push_back(problem_with(name, "unreadable", fd.error().said(), place));
    }
    return nothing();
  }
  Entry entry;
  if (::fstat(fd->get(), &entry.facts) != 0) return fail_system(errno, "examine {}", name);
  if (!S_ISREG(entry.facts.st_mode)) {
    problems.push_back(problem_with(name, "not_a_file", sentence("not a regular file"), place));
    return nothing();
  }
  const auto locked = find_ofd_lock(fd->get(), life);
  if (!locked) return std::unexpected(locked.error());
  if (!locked->has_value()) return nothing();
  auto text = read_beginning(fd->get());
  if (!text) return std::unexpected(std::move(text).error());
  entry.text = *std::move(text);
  if (entry.facts.st_nlink > 1) {
    problems.push_back(problem_with(name, "hard_linked", sentence("it has a second name"), place));
  }
  if (entry.facts.st_size > static_cast<off_t>(largest_file)) {
    problems.push_back(problem_with(name, "too_large", sentence("far too large"), place));
  }
  keep = *std::move(fd);
  return std::optional(std::move(entry));
}

WallTime changed_at(const struct stat& facts) {
  return {std::int64_t{facts.st_ctim.tv_sec} * 1000 + facts.st_ctim.tv_nsec / 1'000'000};
}

std::string without(std::string_view prefix, const std::string& name) {
  return name.substr(prefix.size());
}

struct FoundTicket {
  TicketFacts facts;
  Waiter waiter;
  WaiterState state;
};

/// As berth 0.1.0 tells it.
std::vector<std::size_t> flags_on_0_1(int fd) {
  std::vector<std::size_t> on;
  const auto passed = find_ofd_lock(fd, ticket_passed_0_1);
  if (passed && *passed) on.push_back(passed_flag);
  off_t from = ticket_gathered_0_1.start;
  const off_t end = from + ticket_gathered_0_1.length;
  while (from < end) {
    const auto found = find_ofd_lock(fd, {.start = from, .length = end - from});
    if (!found || !*found) break;
    const off_t index = std::max((*found)->start, from) - ticket_gathered_0_1.start;
    on.push_back(first_gathered + static_cast<std::size_t>(index));
    from = ticket_gathered_0_1.start + index + 1;
  }
  return on;
}

std::vector<std::size_t> flags_of(int fd) {
  auto on = flags_on(fd);
  return on ? *std::move(on) : flags_on_0_1(fd);
}

WaiterState state_of(int fd, const std::vector<std::size_t>& flags, std::string id) {
  WaiterState state{.id = std::move(id)};
  state.passed = !flags.empty() && flags.front() == passed_flag;
  const auto beat = find_ofd_lock(fd, ticket_beat);
  if (beat && *beat) state.beat = instant_of_beat((*beat)->start);
  return state;
}

std::vector<DeviceId> gathered_by(const std::vector<std::size_t>& flags,
                                  const std::vector<DeviceId>& devices) {
  std::vector<DeviceId> gathered;
  for (const std::size_t flag : flags) {
    if (flag < first_gathered || flag - first_gathered >= devices.size()) continue;
    const DeviceId& device = devices[flag - first_gathered];
    if (is_plain_id(device.text())) gathered.push_back(device);  // a stranger wrote it
  }
  return gathered;
}

/// When it appeared, on today's calendar. st_ctime is by the date of then; where the date has been
/// set since, the steady clock knows the age. For people alone: the queue's order asks neither.
WallTime appeared_at(const struct stat& facts, std::optional<std::int64_t> steady,
                     const Moment& now) {
  constexpr std::int64_t same_ms = 2000;
  const WallTime by_file = changed_at(facts);
  if (!steady || *steady > steady_ms(now.steady)) return by_file;
  const WallTime by_age{now.wall.unix_ms - (steady_ms(now.steady) - *steady)};
  const bool same =
      by_age.unix_ms > by_file.unix_ms - same_ms && by_age.unix_ms < by_file.unix_ms + same_ms;
  // In whole seconds, so that the next look says the same.
  return same ? by_file : WallTime{by_age.unix_ms / 1000 * 1000};
}

Claim claim_from(LeaseText text, std::string id, const struct stat& facts, const Moment& now) {
  Claim claim = std::move(text.claim);
  claim.id = std::move(id);
  claim.uid = facts.st_uid;
  claim.since = appeared_at(facts, text.steady_ms, now);
  if (text.time_limit) claim.ends = WallTime{claim.since.unix_ms + text.time_limit->count()};
  claim.parsed = text.format <= ledger_format;
  return claim;
}

}  // namespace

Result<std::string> read_beginning(int fd) {
  std::string text;
  std::array<char, 4096> block{};
  while (text.size() < largest_file) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read");
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<WaiterState> Ledger::waiter_state(const std::string& id) const {
  const auto fd = open_entry(directory_.get(), std::string(ticket_prefix) + id);
  // What cannot be read may be alive, and keeps its place.
  if (!fd && fd.error().code() == ErrorCode::io) return WaiterState{.id = id};
  if (!fd) return std::nullopt;
  const auto alive = find_ofd_lock(fd->get(), ticket_life);
  if (!alive || !alive->has_value()) return std::nullopt;
  // What is no ticket is not waited for, even if somebody keeps it locked.
  const auto text = read_beginning(fd->get());
  if (text && !parse_ticket(*text)) return std::nullopt;
  return state_of(fd->get(), flags_of(fd->get()), id);
}

Result<std::vector<std::string>> Ledger::tickets_before(const std::string& own) const {
  const auto names = names_in(directory_.get());
  if (!names) return std::unexpected(names.error());
  std::vector<TicketFacts> tickets;
  for (const std::string& name : *names) {
    if (!name.starts_with(ticket_prefix)) continue;
    struct stat facts{};
    const bool there = ::fstatat(directory_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return fail_system(errno, "examine {}", name);
    if (there && S_ISREG(facts.st_mode)) tickets.push_back(ticket_facts(name, facts));
  }
  std::vector<std::string> ids;
  for (const QueueTurn& turn : order(tickets, *policy_)) {
    std::string id = without(ticket_prefix, tickets[turn.ticket].name);
    if (id == own) break;
    ids.push_back(std::move(id));
  }
  return ids;
}

Result<LedgerView> Ledger::read() const { return scan(nullptr); }

Result<LedgerView> Ledger::read_with_tickets(const std::vector<std::string>& ids) const {
  return scan(&ids);
}

namespace {

/// One reading of the directory.
class Scan {
 public:
  Scan(int directory, const LedgerPlace& place, const Policy& policy,
       std::map<uid_t, std::string>& user_names, const Moment& now)
      : directory_(directory), place_(place), policy_(policy), user_names_(user_names), now_(now) {}

  void add_lease(const std::string& name) {
    Fd fd;
    const auto entry = living(name, lease_life, fd);
    if (!entry || !is_first_sight(entry->facts)) return;
    auto text = parse_lease(entry->text);
    if (!text) {
      view.problems.push_back(problem_with(name, "broken", text.error().said(), place_));
      return;
    }
    compare(name, text->claim.uid, entry->facts.st_uid, text->format);
    Claim claim = claim_from(*std::move(text), without(lease_prefix, name), entry->facts, now_);
    claim.user = user_name(claim.uid);
    view.claims.push_back(std::move(claim));
  }

  void add_ticket(const std::string& name) {
    Fd fd;
    const auto entry = living(name, ticket_life, fd);
    if (!entry || !is_first_sight(entry->facts)) return;
    auto text = parse_ticket(entry->text);
    if (!text) {
      view.problems.push_back(problem_with(name, "broken", text.error().said(), place_));
      return;
    }
    compare(name, text->waiter.uid, entry->facts.st_uid, text->format);
    FoundTicket ticket;
    ticket.facts = ticket_facts(name, entry->facts);
    const auto flags = flags_of(fd.get());
    ticket.state = state_of(fd.get(), flags, without(ticket_prefix, name));
    Waiter& waiter = ticket.waiter = std::move(text->waiter);
    waiter.id = ticket.state.id;
    waiter.uid = entry->facts.st_uid;
    waiter.user = user_name(waiter.uid);
    waiter.since = appeared_at(entry->facts, text->steady_ms, now_);
    // No ticket is older than its file, unless the date was set back since. How long one that is
    // not understood may gather follows from its age: of that it may not tell us at all.
    const WallTime written = changed_at(entry->facts);
    const bool is_too_old = waiter.since < written && written <= now_.wall;
    if (is_too_old || !request_from_json(waiter.request)) waiter.since = written;
    waiter.gathered = gathered_by(flags, text->devices);
    const auto until = waiter.gathered.empty() ? std::nullopt : gathers_until_s(fd.get());
    if (until) waiter.gathers_until = WallTime{waiter.since.unix_ms + *until * 1000};
    tickets_.push_back(std::move(ticket));
  }

  void add_foreign(const std::string& name) {
    view.problems.push_back(
        problem_with(name, "foreign_file", sentence("not a file of the ledger"), place_));
  }

  /// Sorts everything.
  void finish() {
    std::sort(view.claims.begin(), view.claims.end(), [](const Claim& a, const Claim& b) {
      return std::tie(a.since, a.id) < std::tie(b.since, b.id);
    });
    std::vector<TicketFacts> facts;
    for (const FoundTicket& ticket : tickets_) facts.push_back(ticket.facts);
    for (const QueueTurn& turn : order(facts, policy_)) {
      FoundTicket& ticket = tickets_[turn.ticket];
      ticket.waiter.priority = turn.counted;
      view.waiters.push_back(std::move(ticket.waiter));
      view.states.push_back(std::move(ticket.state));
    }
  }

  LedgerView view;
  /// A file that may be alive could not be read: nobody knows what is promised.
  std::optional<Error> unread;

 private:
  std::optional<Entry> living(const std::string& name, LockRange life, Fd& keep) {
    auto entry = read_living(directory_, name, life, place_, view.problems, keep);
    if (entry) return *std::move(entry);
    unread = std::move(entry).error();
    return std::nullopt;
  }

  /// A hard link is no second lease.
  bool is_first_sight(const struct stat& facts) {
    return seen_.emplace(facts.st_dev, facts.st_ino).second;
  }

  const std::string& user_name(uid_t uid) {
    const auto known = user_names_.find(uid);
    if (known != user_names_.end()) return known->second;
    return user_names_.emplace(uid, local_user_name(uid)).first->second;
  }

  void compare(const std::string& name, uid_t said, uid_t owner, unsigned format) {
    if (said != owner) {
      view.problems.push_back(
          problem_with(name, "wrong_owner",
                       sentence("says user {} and belongs to user {}", said, owner), place_));
    }
    if (format > ledger_format) {
      Problem problem = problem_with(
          name, "newer_format",
          sentence("written by a newer berth (format {}); only its first line was read", format),
          place_);
      problem.remedy = sentence("bring this berth up to date");
      view.problems.push_back(std::move(problem));
    }
  }

  int directory_;
  const LedgerPlace& place_;
  const Policy& policy_;
  std::map<uid_t, std::string>& user_names_;
  Moment now_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<FoundTicket> tickets_;
};

}  // namespace

Result<LedgerView> Ledger::scan(const std::vector<std::string>* tickets) const {
  const auto unread = [this](Error why) {
    return std::unexpected(
        std::move(why).because(sentence("reading the ledger {}", place_.directory)));
  };
  auto names = names_in(directory_.get());
  if (!names) return unread(std::move(names).error());
  Scan scan(directory_.get(), place_, *policy_, user_names_, clock_->moment());
  for (const std::string& name : *names) {
    if (name.starts_with(lease_prefix)) {
      scan.add_lease(name);
    } else if (name.starts_with(ticket_prefix)) {
      scan.view.has_tickets = true;
      if (tickets == nullptr) scan.add_ticket(name);
    } else if (name != host_lock_name && !name.starts_with(temporary_prefix)) {
      scan.add_foreign(name);
    }
  }
  if (tickets != nullptr) {
    for (const std::string& id : *tickets) scan.add_ticket(std::string(ticket_prefix) + id);
  }
  if (scan.unread) return unread(*std::move(scan.unread));
  scan.finish();
  return std::move(scan.view);
}

}  // namespace berth
