#pragma once
// What a record says of a run's share of memory: what was to hold it there, and whether it did, as
// far as anybody can tell.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/summary.h"
#include "snapshot/claim.h"

namespace berth {

/// Whether what was to hold a run was there for its processes.
enum class Proved { yes, no, unknown };
[[nodiscard]] std::string_view word_of(Proved proved);
struct CapProof {
  Proved proved = Proved::unknown;
  std::string why;  // in English; empty: it is proved
  friend bool operator==(const CapProof&, const CapProof&) = default;
};

/// What the sampler saw of the shim: the record's cap.json.
struct CapSeen {
  struct OnDevice {
    Bytes highest_charge{0};
    std::uint64_t refusals = 0;
    friend bool operator==(const OnDevice&, const OnDevice&) = default;
  };
  std::vector<OnDevice> devices;
  /// It was found in a process that uses a device.
  bool in_processes = false;
  /// Why it does not hold all of them, in English; empty: it was in each that was looked into.
  std::string gap;
  friend bool operator==(const CapSeen&, const CapSeen&) = default;
};

/// One device of the run, so far.
struct CapOnDevice {
  std::optional<Bytes> limit;
  Reading<Bytes> highest_measured;  // by the driver, of the run's processes
  Reading<Bytes> highest_charge;    // by the tier; unsupported: it does not count
  std::uint64_t refusals = 0;       // of allocations, by the tier
  friend bool operator==(const CapOnDevice&, const CapOnDevice&) = default;
};
struct CapOutcome {
  CapProof proof;
  std::vector<CapOnDevice> devices;
  friend bool operator==(const CapOutcome&, const CapOutcome&) = default;
};

struct RunCap {
  CapTier tier = CapTier::none;
  bool stops = false;  // the watchdog ends a run that is above it; else it warns
  /// Each stronger tier by its word, and why it does not hold the run. Its owner's alone.
  std::vector<std::pair<std::string, std::string>> not_held_by;
  /// The shim's file, as /proc/PID/maps shows it; empty: another tier. Its owner's alone, too.
  std::string image = {};
  /// Of what the samples say: told with a record, and not kept in it.
  std::optional<CapOutcome> outcome;
  friend bool operator==(const RunCap&, const RunCap&) = default;
};

/// The watchdog is proved where it could read what the run's processes have. `simulated`: nothing
/// was measured.
[[nodiscard]] CapOutcome outcome_of(const RunCap& cap,
                                    const std::vector<std::optional<Bytes>>& promised,
                                    const Summary& summary, bool simulated,
                                    const std::optional<CapSeen>& seen = std::nullopt);

}  // namespace berth
