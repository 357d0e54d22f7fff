#pragma once
// Getting devices: look, choose, claim under the host lock, or wait in the queue's order. The
// one place where a Request, a Snapshot and the Ledger meet.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "lease/ledger.h"
#include "place/placement.h"
#include "place/request.h"

namespace berth {

/// Looks at the machine and names the devices that no job should get (Snapshot::faults). acquire()
/// fills in claims and waiters. The provider bounds the time of a look.
using TakeSnapshot = std::function<Result<Snapshot>()>;

/// One and the same process that holds the host lock this long is told of.
constexpr Duration patience_for_the_lock = std::chrono::seconds(10);

/// What a waiter is told, whenever it changes.
struct WaitingNews {
  int position = 1;     // in the queue, 1 = next
  int devices = 1;      // wanted
  Placement placement;  // why not yet, device by device
  Snapshot snapshot;
  std::chrono::milliseconds waited{0};
  std::optional<std::chrono::milliseconds> gives_up_in;  // where --wait has an end
};

/// The holder in the way, for comparing: a lease tells its job's pid later than the rest.
[[nodiscard]] inline std::string who(const Holder& holder) {
  return holder.user + " " + holder.command;
}

struct AcquireOptions {
  Request request;
  PlaceLimits limits;
  /// What its lease is to say: of which run it is, what holds a share. Its devices follow.
  Claim claim = {};
  Priority priority = Priority::normal;
  /// The job is ended after so long; nothing: never.
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// The rules as they are now; null: there are none, or the ledger has them already. Asked again
  /// before each claim.
  std::function<Result<std::shared_ptr<const Policy>>()> policy = {};
  /// 0: answer at once. Nothing: wait as long as it takes.
  std::optional<std::chrono::milliseconds> wait;
  std::function<void(const WaitingNews&)> on_news;
  /// Also where nothing but the time has changed, at each beat: for a line that is rewritten.
  bool tells_time = false;
  /// Gets a sentence for the waiting user: what stands in the way besides the waiters ahead.
  std::function<void(const Sentence&)> say;
  /// Asked often while waiting: true ends it (Ctrl-C). Null: never.
  std::function<bool()> interrupted;
};

/// Devices got.
struct Acquired {
  Lease lease;
  Placement placement;
  Snapshot snapshot;  // the one the choice was made on
  std::chrono::milliseconds waited{0};
};

/// Nothing got: why, device by device.
struct NotAcquired {
  enum class Why { none_free, never_possible, timed_out, interrupted } why = Why::none_free;
  Placement placement;
  Snapshot snapshot;
  std::chrono::milliseconds waited{0};
  /// The last failure while it waited that might have passed: the ledger's disk is full.
  std::optional<Sentence> hindered_by = {};
};

/// The outer Result is for failures: there is no ledger, or one process held the host lock all the
/// time. (Only a caller that does not wait gives up at the lock.) The inner answer is yes or no.
[[nodiscard]] Result<std::variant<Acquired, NotAcquired>> acquire(Ledger& ledger,
                                                                  const TakeSnapshot& look,
                                                                  Clock& clock,
                                                                  const AcquireOptions& options);

}  // namespace berth
