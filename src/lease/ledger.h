#pragma once
// The ledger: who has been promised what, kept as files in one directory. So it survives every
// crash and needs no daemon (doc/DESIGN.md, "Leases"). This folder alone touches those files.
//
// A lease is alive exactly as long as a process holds the OFD write lock on its file. Those are the
// keeper, and every process of the job that inherited the descriptor. Everything else in the file
// only describes.

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "place/policy.h"
#include "snapshot/snapshot.h"

namespace berth {

/// Where a ledger is and who shares it.
struct LedgerPlace {
  std::string directory;
  /// shared: /run/berth, made by `sudo berth setup`, all users. own: this user's alone. named: by
  /// `named_by`.
  enum class Kind { shared, own, named } kind = Kind::own;
  /// For a part of a named ledger: that ledger's directory. The part gets its mode.
  std::string within = {};
  std::string named_by = "BERTH_LEDGER";  // or the line of a file
};

/// Chooses the ledger: `named` if given, else /run/berth if it is one that can be trusted, else
/// /var/tmp/berth-UID. The roots are parameters for tests.
[[nodiscard]] Result<LedgerPlace> find_ledger(const std::optional<std::string>& named,
                                              const std::string& shared_root = "/run/berth",
                                              const std::string& own_root = "/var/tmp");

/// The part of a simulated server. Its leases take no real device, and none of another simulated
/// server.
[[nodiscard]] LedgerPlace part_for_simulated(LedgerPlace place, std::string_view server);

/// Whether a run only holds its devices (`berth reserve`): what it runs is berth itself.
[[nodiscard]] bool is_reservation_command(const std::vector<std::string>& command);

/// A masked command as the ledger shows it, which everybody may read. It is short, and empty where
/// /proc hides it from others.
[[nodiscard]] std::string command_for_others(const std::vector<std::string>& masked,
                                             const std::string& proc = "/proc");

/// The host lock, held while this object lives. Nobody else claims meanwhile; that is all it is
/// for.
class HostLock {
 public:
  explicit HostLock(Fd fd) : fd_(std::move(fd)) {}

 private:
  Fd fd_;
};

/// A claim held by this process (and by those that inherit its descriptor).
class Lease {
 public:
  Lease(std::string id, std::string path, Fd fd);
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Its name in the ledger's directory.
  [[nodiscard]] const std::string& file() const { return path_; }
  /// The locked descriptor, numbered 100 or above. Children that are to keep the lease alive
  /// inherit it: clear its close-on-exec flag in them (run/ does).
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// Adds what is known since, for people: its keeper, its job, what turned out to hold it.
  [[nodiscard]] Result<void> describe(const Claim& known);
  /// As its file says now: Ledger::extend() may have moved it.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_limit() const;
  /// Removes the lease: the promise has ended. Idempotent. After a failure the lease still holds
  /// and end() may be tried again.
  [[nodiscard]] Result<void> end(const class Ledger& ledger);
  /// Closes this process's descriptor without ending the lease (a launcher after its keeper has
  /// it).
  void let_go() { fd_.close(); }

 private:
  std::string id_;
  std::string path_;
  Fd fd_;
};

/// A place in the queue, held while this object lives. The file is written once, because its
/// st_ctime is the arrival. Changes while waiting are told by locks beyond the file's end, as they
/// are let go (ledger_locks.h). That nobody can hinder, so that nothing here can fail for others.
class Ticket {
 public:
  Ticket(std::string id, std::vector<DeviceId> devices, Fd fd, Instant awake, const Ledger& ledger);
  /// Leaves the queue. Where the file cannot be removed it stays behind, dead.
  ~Ticket();
  Ticket(Ticket&&) = default;
  Ticket& operator=(Ticket&&) = delete;
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Shows the others which devices it gathers.
  void set_gathered(const std::vector<DeviceId>& devices);
  /// Shows the others until when. It can be moved further away alone.
  void set_gathers_until(Instant until);
  /// Shows the others that it leaves something of what is free to them.
  void set_passed(bool passed);
  /// Shows the others that it is awake.
  void beat(Instant now);
  void leave();

 private:
  void set_flag(std::size_t flag, bool on, off_t byte_0_1);

  std::string id_;
  std::vector<DeviceId> devices_;
  Fd fd_;
  const Ledger* ledger_;
  Instant awake_;               // the last beat
  std::vector<off_t> changes_;  // how often each flag was changed
  Instant made_;
  off_t until_ = 0;  // seconds after that
};

/// What a waiter shows of itself besides its ticket.
struct WaiterState {
  std::string id;
  bool passed = false;          // it leaves something of what is free
  std::optional<Instant> beat;  // when it was last seen awake, on the machine's steady clock
};

/// What the ledger says now.
struct LedgerView {
  std::vector<Claim> claims;        // live ones, oldest first
  std::vector<Waiter> waiters;      // live ones, in queue order
  std::vector<WaiterState> states;  // of `waiters`, same order
  bool has_tickets = false;         // some were seen, read or not, alive or not
  std::vector<Problem> problems;    // files that could not be understood: honoured where they
                                    // claim
  /// Nothing of it could be read: that nobody is in it says nothing.
  bool is_unread = false;
};

/// The ledger. Its tickets must not outlive it.
class Ledger {
 public:
  /// Opens (and for an own or named ledger creates) the directory. Says who is to do what where it
  /// cannot be used.
  [[nodiscard]] static Result<Ledger> open(LedgerPlace place, Clock& clock);

  [[nodiscard]] const LedgerPlace& place() const { return place_; }
  /// The rules that order everything that is read here; null: those of a machine without a policy,
  /// as at first.
  void set_policy(std::shared_ptr<const Policy> policy);
  [[nodiscard]] const Policy& policy() const { return *policy_; }
  [[nodiscard]] int directory() const { return directory_.get(); }

  /// timeout: one and the same process has held it all that time; the message names it. While it
  /// goes from hand to hand it is waited for. Where `interrupted` says so it gives up at once.
  [[nodiscard]] Result<HostLock> lock(Duration patience,
                                      const std::function<bool()>& interrupted = {}) const;

  /// Reads without taking any lock.
  [[nodiscard]] Result<LedgerView> read() const;
  /// As read(), with the tickets named alone: what somebody deep in a long queue can afford.
  [[nodiscard]] Result<LedgerView> read_with_tickets(const std::vector<std::string>& ids) const;
  /// The tickets before `own`, also dead ones, in the queue's order. Cheap enough for a queue of
  /// hundreds. All of them where `own` is not there: a new ticket stands behind them.
  [[nodiscard]] Result<std::vector<std::string>> tickets_before(const std::string& own) const;
  /// One ticket's state; nothing: it is dead or gone.
  [[nodiscard]] std::optional<WaiterState> waiter_state(const std::string& id) const;

  /// Publishes a lease, locked before it is visible. All or nothing. It says of `wanted` its
  /// devices and what walk_said() (snapshot/walk.h) names; the job is ended after `time_limit`.
  [[nodiscard]] Result<Lease> claim(const HostLock& lock, Claim wanted,
                                    std::optional<std::chrono::milliseconds> time_limit = {});

  /// Gives one of one's own leases another time limit, counted from its beginning. Its keeper asks
  /// for it when the old one is over. Waiters see it at once.
  [[nodiscard]] Result<void> extend(const std::string& lease,
                                    std::chrono::milliseconds time_limit) const;

  /// Takes a place at the end of the queue. The ticket says of `wanted` what walk_said() names, its
  /// priority and its time limit.
  /// devices: what it could ever be given. set_gathered() names them by their place in this list.
  [[nodiscard]] Result<Ticket> queue(Waiter wanted, std::vector<DeviceId> devices) const;

  /// Removes what dead processes left behind: this user's or, as root, everybody's. It looks into
  /// 16 of them at most, from a random one on. So a long queue costs little more.
  /// Returns how many files it removed.
  std::size_t sweep() const;
  /// The same for one ticket.
  void sweep_ticket(const std::string& id) const;

 private:
  Ledger(LedgerPlace place, Fd directory, Clock& clock);
  [[nodiscard]] Result<LedgerView> scan(const std::vector<std::string>* tickets) const;

  LedgerPlace place_;
  std::shared_ptr<const Policy> policy_;
  Fd directory_;
  Clock* clock_;
  mutable std::map<uid_t, std::string> user_names_;  // asked of /etc/passwd once each
};

}  // namespace berth
