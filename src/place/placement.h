#pragma once
// Placement: which devices a request gets, with a reason each, or a refusal with a reason per
// device. Pure: a Snapshot (claims included) and a Request in, an answer out; no I/O, no clock.

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sentence.h"
#include "place/policy.h"
#include "place/request.h"
#include "snapshot/device_fault.h"
#include "snapshot/snapshot.h"

namespace berth {

/// The rule that refused a device. The names are part of `--json` and never translated.
enum class Rule {
  unusable,          // no driver, unsupported kind
  lost,              // fell off the bus
  divided,           // MIG is on (or whether it is could not be read): its instances are offered
                     // instead; of those a program can use one, so a request for more refuses them
                     // by this rule too
  not_visible,       // outside the inherited visible-devices list, or outside the lease we run in
  excluded,          // --except
  not_listed,        // not in --only
  other_kind,        // not of the maker asked for (--kind)
  kind_not_said,     // there are several makers' devices, and neither --kind nor --only
  not_asked_for,     // integrated, or of a kind of which only presence is known: --only gives it
  not_permitted,     // the policy does not allow the user this device
  failed,            // judged failed (`berth health`), or whether it is could not be read, unless
                     // --allow-failed
  compute_mode,      // Prohibited; Exclusive_Process with somebody on it already
  too_old,           // --min-compute
  lacks_feature,     // --need
  at_limit,          // the user has as many devices as the policy allows at once
  quiet_hours,       // the policy lets the user start nothing at this time of day
  leased,            // another claim has it whole, or any claim while we want it whole; or the
                     // claims could not be read
  in_use,            // processes of strangers compute on it, or hold memory unseen
  memory,            // not enough left to promise
  memory_unknown,    // how much is left cannot be read
  utilization,       // above --max-utilization, or above 10 % with nobody seen to cause it
  not_idle,          // busy within --idle-for
  idle_unknown,      // the evidence for idleness failed to read
  not_watched_long,  // history shorter than --idle-for: watched from now on
  apart,             // free, and not --together with enough others that are free
  reserved,          // an earlier waiter will take it, or gathers it
};
[[nodiscard]] std::string_view name_of(Rule rule);

/// Who stands in the way.
struct Holder {
  std::string user;     // empty: cannot be seen (another namespace)
  pid_t pid = 0;        // 0: a lease whose job has not started
  std::string command;  // masked
  std::optional<WallTime> since;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct Refusal {
  DeviceId device;
  std::optional<int> index;
  Rule rule = Rule::unusable;
  Sentence text;  // for people, without the device's name
  std::vector<Holder> holders;
  /// False: no waiting will change it (excluded, too old, too small).
  bool may_change = true;
  /// Rule::leased: one of the holders has all of it.
  bool is_leased_whole = false;
};

struct Choice {
  DeviceId device;
  std::optional<int> index;
  std::optional<Bytes> promised;  // nothing: the whole device
  Sentence reason;                // for people: "free, 80.0 GiB, least left over"
};

struct Placement {
  /// `request.devices` of them, or none. By index, as topology and people expect. With
  /// Preference::listed as listed: the first named is the job's first device.
  std::vector<Choice> chosen;
  std::vector<Refusal> refused;   // every device not chosen and not available
  std::vector<Choice> available;  // would have done, not needed (or not enough of them)
  [[nodiscard]] bool satisfied() const { return !chosen.empty(); }
  /// False: this machine can never satisfy the request, not even when it is idle.
  bool possible = true;
  /// How many were refused for inherited variables alone, which may be set by mistake.
  std::size_t hidden_by_variable = 0;
  /// Their names; empty: none hides a device.
  std::vector<std::string_view> hiding_variables;
  /// They show no device at all.
  bool variable_hides_all = false;
  /// The makers among which somebody has to choose (Rule::kind_not_said); else empty.
  std::vector<std::string_view> kinds_to_choose;
};

/// In their order.
[[nodiscard]] std::vector<DeviceId> devices_of(const std::vector<Choice>& chosen);
/// What a claim of it takes.
[[nodiscard]] std::vector<ClaimedDevice> taken_by(const Placement& placement);

/// What limits the devices that may be given. Variables, which the user can unset, or the lease
/// around the user.
enum class VisibleBy { variable, lease };

/// A device that an earlier waiter will take or gathers.
struct Kept {
  std::size_t waiter = 0;  // its place in Snapshot::waiters
  ClaimedDevice part;      // how much of it
};

/// What limits the choice besides the request itself.
struct PlaceLimits {
  /// Only these devices may be given (inherited variables, the lease we are inside of);
  /// nothing: all.
  std::optional<std::vector<DeviceId>> visible;
  VisibleBy visible_by = VisibleBy::variable;
  /// VisibleDevices::hidden_by: of a device that came later nothing is said.
  std::map<DeviceId, std::string_view> hidden_by = {};
  /// The administrator's rules, and whose request it is; null: none.
  const Policy* policy = nullptr;
  uid_t uid = 0;
  /// Its job is ended after so long: then it may have what is gathered for somebody until later.
  std::optional<std::chrono::milliseconds> time_limit;
  /// What the user's last job was on: of equals those again.
  std::vector<DeviceId> last_had;
  std::vector<Kept> reserved;
  /// How long this process has watched each device and found it idle. Only devices whose own
  /// history is missing or too short are listed. A device refused as not_idle starts again at 0;
  /// one refused as not_watched_long goes on.
  std::vector<std::pair<DeviceId, Milliseconds>> watched_idle;
};

/// Chooses, by these rules beyond the names above:
///
/// Alone    without `memory` the device is taken whole. Any claim refuses it. So does any stranger
///          that computes there (C, C+G, M+C). So does memory that no seen process explains,
///          beyond an idle driver's (64 MiB of NVIDIA's). A desktop (type G) never blocks; up to
///          1 GiB that it is not charged with is its own.
/// Load     `max_utilization` is taken at its word. Without one, a device wanted whole is refused
///          above 10 % only where no process at all is seen on it. Then somebody in a hidden PID
///          namespace computes there. A desktop's 20 % by Xorg is explained, and offered.
/// Idle     by the driver's samples, else utilisation now, else the process list and memory.
///          `unsupported`, `no permission` and `not sampled` fall to the next; `failed` refuses.
///          Load on a device where only a desktop draws does not count against it.
/// Kind     chosen devices are of one kind: a program reads one visible-devices variable.
/// Best fit a share goes where least is left over; beside strangers, who have not agreed to share,
///          only where nothing else will do. A device wanted whole says nothing about how much it
///          needs: it is the card with the least memory (to the GiB). So the large ones stay for
///          those who ask for them (--memory, --only, --prefer most-free). Whole GPUs come before
///          MIG instances, which are for those who ask. Then the one a desktop uses least.
/// Links    several devices of one fit: the set with the best links, leaving the best sets whole
///          (place/together.h), as far as the snapshot knows them. --together refuses any other.
/// Ties     what the user's last job was on, then by index, then MIG place, then identity: the same
///          snapshot gives the same answer.
[[nodiscard]] Placement place(const Snapshot& snapshot, const Request& request,
                              const PlaceLimits& limits = {});

/// Bytes of a device that can still be promised to a newcomer. That is the total, less what
/// strangers use and the driver reserves. Of every claim the larger of its promise and its
/// processes' use is taken off; so is what waiters have reserved (Waiter::reserved). Absent with
/// the reason
/// where total or used cannot be read. Where a claim's process does not tell its memory (WSL), it
/// counts as a stranger's. The answer is then a lower bound and never promises too much.
[[nodiscard]] Reading<Bytes> promisable_memory(const Device& device, const Snapshot& snapshot);

/// The queue's order. What each earlier waiter takes or gathers is reserved, so that no later
/// arrival delays an earlier one. A waiter that cannot use what is free blocks nobody, nor does one
/// that is stuck.
///
/// Returns the devices that `own` has to leave to the waiters before `position`, each with its
/// waiters. A device on which an earlier share and `own` both fit is not among them. Each earlier
/// request is placed on what remains after those before it. One that cannot start reserves what it
/// gathered. So does one that cannot be read (a newer berth's): whole devices, as far as
/// may_gather() allows.
///
/// `policy`, `reserved` and `watched_idle` of `limits` count for all; the others for the asker
/// alone.
///
/// Backfill: what a waiter gathers is open to a job that surely ends before the last of it comes
/// free. The time limits of the leases there tell when that is. So no such job delays the waiter
/// beyond what those limits promise it.
[[nodiscard]] std::vector<Kept> reserved_before(const Snapshot& snapshot, std::size_t position,
                                                const Request& own, const PlaceLimits& limits = {});

/// The placement after everybody before `position` has taken or gathered what is theirs.
[[nodiscard]] Placement place_behind(const Snapshot& snapshot, std::size_t position,
                                     const Request& request, const PlaceLimits& limits = {});

/// The placement of somebody who comes now. Where such a one stands is decided here alone: behind
/// all who wait.
[[nodiscard]] Placement place_newcomer(const Snapshot& snapshot, const Request& request,
                                       const PlaceLimits& limits = {});

/// When the waiter has all that it gathers, by the time limits of the leases there. Nothing: a
/// lease has no limit or is overdue, a user has no lease, or all of it is free already.
[[nodiscard]] std::optional<WallTime> gathered_at(const Waiter& waiter, const Snapshot& snapshot);

/// Whether the rules of the policy alone keep it from starting now.
[[nodiscard]] bool is_held_by_policy(const Placement& placement);

/// Whether devices are kept together for the waiter, were it the first to wait. Not where it may
/// not start now, nor where it never can. A request that is not understood, as a newer berth's,
/// cannot be judged. It gathers for `gather_limit` after its ticket appeared, and no longer.
/// `placement`: its own, where it is understood.
[[nodiscard]] bool may_gather(const Waiter& waiter, const std::optional<Placement>& placement,
                              WallTime now);

/// Fills in Waiter::reserved: devices that are free, and that the queue keeps from a newcomer who
/// wants one whole.
void keep_for_waiters(Snapshot& snapshot, const Policy* policy);

}  // namespace berth
