#pragma once
// Placement: which devices a request gets, with a reason each, or a refusal with a reason per
// device. Pure: a Snapshot (claims included) and a Request in, an answer out; no I/O, no clock.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "place/request.h"
#include "snapshot/snapshot.h"

namespace berth {

/// The rule that refused a device. The names are part of `--json` and never translated.
enum class Rule {
  unusable,         // no driver, unsupported kind
  lost,             // fell off the bus
  divided,          // MIG is on: its instances are offered instead
  not_visible,      // outside the inherited visible-devices list, or outside the lease we run in
  excluded,         // --except
  not_listed,       // not in --only
  compute_mode,     // Prohibited
  too_old,          // --min-compute
  lacks_feature,    // --need
  leased,           // another claim has it whole, or any claim while we want it whole
  in_use,           // processes of strangers compute on it
  memory,           // not enough left to promise
  memory_unknown,   // how much is left cannot be read
  utilization,      // above --max-utilization
  not_idle,         // busy within --idle-for
  idle_unknown,     // the evidence for idleness failed to read
  not_watched_long, // history shorter than --idle-for: watched from now on
  reserved,         // an earlier waiter will take it, or gathers it
};
[[nodiscard]] std::string_view name_of(Rule rule);

/// Who stands in the way.
struct Holder {
  std::string user;
  pid_t pid = 0;             // 0: a lease whose job has not started
  std::string command;       // masked
  std::optional<WallTime> since;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct Refusal {
  DeviceId device;
  std::optional<int> index;
  Rule rule = Rule::unusable;
  std::string text;             // for people, in their language, without the device's name
  std::vector<Holder> holders;
  /// False: no waiting will change it (excluded, too old, too small).
  bool may_change = true;
};

struct Choice {
  DeviceId device;
  std::optional<int> index;
  std::optional<Bytes> promised;  // nothing: the whole device
  std::string reason;             // for people: "free, 80.0 GiB, least left over"
};

struct Placement {
  std::vector<Choice> chosen;     // `request.devices` of them, or none; in visible-devices order
  std::vector<Refusal> refused;   // every device not chosen and not available
  std::vector<Choice> available;  // would have done, not needed (or not enough of them)
  [[nodiscard]] bool satisfied() const { return !chosen.empty(); }
  /// False: this machine can never satisfy the request, whoever leaves.
  bool possible = true;
};

/// What limits the choice besides the request itself.
struct PlaceLimits {
  /// Only these devices may be given (inherited CUDA_VISIBLE_DEVICES, the lease we are inside of);
  /// nothing: all.
  std::optional<std::vector<DeviceId>> visible;
  /// Devices that an earlier waiter will take or gathers.
  std::vector<DeviceId> reserved;
  /// How long each device has been watched and found idle by this process, for devices without a
  /// history of their own.
  std::vector<std::pair<DeviceId, Milliseconds>> watched_idle;
};

[[nodiscard]] Placement place(const Snapshot& snapshot, const Request& request,
                              const PlaceLimits& limits = {});

/// Bytes that can still be promised on a device: total, less every claim's larger of promised and
/// used, less what strangers use. Absent with the reason where a part cannot be read.
[[nodiscard]] Reading<Bytes> promisable_memory(const Device& device, const Snapshot& snapshot);

/// The queue's order: what each earlier waiter takes or gathers is reserved, so that no later
/// arrival delays an earlier one, and a waiter that cannot use what is free blocks nobody.
/// Returns the devices reserved for those before `position` in `snapshot.waiters`.
[[nodiscard]] std::vector<DeviceId> reserved_before(const Snapshot& snapshot, std::size_t position,
                                                    const PlaceLimits& limits = {});

}  // namespace berth
