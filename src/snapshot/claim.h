#pragma once
// Claim: a promise, as read from the ledger. One user's run has these bytes on these devices as
// long as it lives. Holding one is a Lease (src/lease). Waiter: a place in the queue.

#include <sys/types.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"

namespace berth {

/// What holds a job to its share of a device's memory, the weakest first (guard/cap.h chooses).
/// `none` nothing; `watchdog` berth looks and acts afterwards; `shim` a library in the job's
/// processes refuses; `mps` MPS refuses; `kernel` the driver's kernel module refuses.
enum class CapTier { none, watchdog, shim, mps, kernel };
/// As typed, in JSON and in a lease: never translated.
constexpr std::array<std::pair<CapTier, std::string_view>, 5> cap_tiers = {{
    {CapTier::none, "none"},
    {CapTier::watchdog, "watchdog"},
    {CapTier::shim, "shim"},
    {CapTier::mps, "mps"},
    {CapTier::kernel, "kernel"},
}};
[[nodiscard]] constexpr std::string_view word_of(CapTier tier) {
  return cap_tiers[static_cast<std::size_t>(tier)].second;
}
/// Nothing: no word of ours, which a newer berth may know.
[[nodiscard]] constexpr std::optional<CapTier> cap_tier_in(std::string_view word) {
  for (const auto& [tier, name] : cap_tiers) {
    if (name == word) return tier;
  }
  return std::nullopt;
}

/// Who goes first in the queue (place/order.h says by how much).
enum class Priority { low, normal, high };
/// As typed, in JSON and in a ticket's name: never translated.
constexpr std::array<std::pair<Priority, std::string_view>, 3> priorities = {{
    {Priority::low, "low"},
    {Priority::normal, "normal"},
    {Priority::high, "high"},
}};
[[nodiscard]] constexpr std::string_view word_of(Priority priority) {
  return priorities[static_cast<std::size_t>(priority)].second;
}
[[nodiscard]] constexpr std::optional<Priority> priority_in(std::string_view word) {
  for (const auto& [priority, name] : priorities) {
    if (name == word) return priority;
  }
  return std::nullopt;
}

struct ClaimedDevice {
  DeviceId device;
  /// Bytes promised to the run on this device; nothing: the whole device, nobody else.
  std::optional<Bytes> promised;
  friend bool operator==(const ClaimedDevice&, const ClaimedDevice&) = default;
};

struct Claim {
  std::string id;   // the lease's unique name
  std::string run;  // the run it belongs to; empty where the lease does not say
  uid_t uid = 0;    // the lease file's owner: the one field nobody can forge
  std::string user;
  /// As the lease says, for people: its life is the lock. Nothing: it does not say.
  std::optional<ProcessId> keeper;
  /// The job's first process, as the lease says; nothing until the job has started.
  std::optional<ProcessId> job;
  std::string command;  // masked, for people
  WallTime since;
  std::vector<ClaimedDevice> devices;
  /// The engine's 64 digits for the container that the job is in; empty: none. Its processes are no
  /// descendants of the keeper.
  std::string container;
  /// Nothing: it has its devices whole, or the lease does not say (an older berth's).
  std::optional<CapTier> held_by;
  std::string
      isolated_by;  // from other cards' device files: "landlock", "systemd"; empty: it is not
  /// When its time limit ends it at the latest, as its lease says; nothing: it has none.
  std::optional<WallTime> ends;
  bool parsed = true;  // false: a newer format of which only line 1 was understood
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct Waiter {
  std::string id;
  std::string run;  // the run that waits; empty where the ticket does not say
  uid_t uid = 0;
  std::string user;
  ProcessId process;
  std::string command;  // masked
  std::string wants;    // the request as typed: "-n 2 --memory 10G"
  std::string request;  // the same for programs (place/request.h to_json); empty: not understood
  WallTime since;
  /// As its owner asked, and no more than the policy allows that owner.
  Priority priority = Priority::normal;
  /// Its job is ended after so long; nothing: it may run for ever.
  std::optional<std::chrono::milliseconds> time_limit;
  /// Devices that it gathers while at the head, and until when it does.
  std::vector<DeviceId> gathered;
  std::optional<WallTime> gathers_until;
  /// It does not answer (stopped, swapped out): it keeps its place, and those behind pass it.
  bool stuck = false;
  /// What it takes or gathers of the free devices. A later request does not get these whole.
  /// Derived: placement fills it in (place/placement.h keep_for_waiters).
  std::vector<ClaimedDevice> reserved;
  friend bool operator==(const Waiter&, const Waiter&) = default;
};

}  // namespace berth
