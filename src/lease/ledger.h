#pragma once
// The ledger: who has been promised what, kept as files in one directory so that it survives every
// crash and needs no daemon (doc/DESIGN.md, "Leases"). This folder alone touches those files.
//
// A lease is alive exactly as long as somebody holds the OFD write lock on its file: the keeper,
// and every process of the job that inherited the descriptor. Everything else in the file only
// describes.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

/// Where a ledger is and who shares it.
struct LedgerPlace {
  std::string directory;
  /// shared: /run/berth, made by `sudo berth setup`, all users. own: this user's alone. named: by
  /// BERTH_LEDGER.
  enum class Kind { shared, own, named } kind = Kind::own;
};

/// Chooses the ledger: `named` if given, else /run/berth if it is one that can be trusted, else
/// /var/tmp/berth-UID. The roots are parameters for tests.
[[nodiscard]] Result<LedgerPlace> find_ledger(const std::optional<std::string>& named,
                                              const std::string& shared_root = "/run/berth",
                                              const std::string& own_root = "/var/tmp");

/// What a lease is to say.
struct LeaseTerms {
  std::string run;
  std::string command;  // masked
  std::vector<ClaimedDevice> devices;
};

/// What a ticket is to say.
struct TicketTerms {
  std::string command;
  std::string wants;
  std::string request;
};

/// A claim held by this process (and by whoever inherits its descriptor).
class Lease {
 public:
  Lease(std::string id, std::string path, Fd fd);
  [[nodiscard]] const std::string& id() const { return id_; }
  /// The locked descriptor, numbered 100 or above. Children that are to keep the lease alive inherit
  /// it: clear its close-on-exec flag in them (run/ does).
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// Writes who the job and its keeper are, for people.
  [[nodiscard]] Result<void> describe(ProcessId keeper, std::optional<ProcessId> job);
  /// Removes the lease: the promise has ended. Takes the host lock for it; idempotent.
  [[nodiscard]] Result<void> end(class Ledger& ledger);
  /// Closes this process's descriptor without ending the lease (a launcher after its keeper has it).
  void let_go() { fd_.close(); }

 private:
  std::string id_;
  std::string path_;
  Fd fd_;
};

/// A place in the queue, held while this object lives.
class Ticket {
 public:
  Ticket(std::string id, std::string path, Fd fd);
  ~Ticket();
  Ticket(Ticket&&) = default;
  Ticket& operator=(Ticket&&) = default;
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Shows the others which devices it gathers.
  [[nodiscard]] Result<void> set_gathered(const std::vector<DeviceId>& devices);

 private:
  std::string id_;
  std::string path_;
  Fd fd_;
};

/// The host lock, held while this object lives. Choosing and claiming happen under it.
class HostLock {
 public:
  explicit HostLock(Fd fd) : fd_(std::move(fd)) {}

 private:
  Fd fd_;
};

/// What the ledger says now.
struct LedgerView {
  std::vector<Claim> claims;     // live ones, oldest first
  std::vector<Waiter> waiters;   // live ones, in queue order
  std::vector<Problem> problems; // files that could not be understood: honoured where they claim
};

class Ledger {
 public:
  /// Opens (and for an own or named ledger creates) the directory. Says who is to do what where it
  /// cannot be used.
  [[nodiscard]] static Result<Ledger> open(LedgerPlace place, Clock& clock);

  [[nodiscard]] const LedgerPlace& place() const { return place_; }

  /// timeout: somebody has held it all that time; the message names the holder.
  [[nodiscard]] Result<HostLock> lock(Duration patience);

  /// Reads without taking any lock.
  [[nodiscard]] Result<LedgerView> read() const;

  /// Publishes a lease, locked before it is visible. All or nothing.
  [[nodiscard]] Result<Lease> claim(const HostLock& lock, const LeaseTerms& terms);

  [[nodiscard]] Result<Ticket> queue(const TicketTerms& terms);

 private:
  Ledger(LedgerPlace place, Fd directory, Clock& clock);
  LedgerPlace place_;
  Fd directory_;
  Clock* clock_;
};

}  // namespace berth
