#pragma once
// A record's words on a run's share of memory: what was to hold the run there, and whether it did,
// if known.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sentence.h"
#include "guard/cap_proof.h"
#include "record/summary.h"
#include "snapshot/claim.h"

namespace berth {

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
  /// Each stronger tier by its word, and why it does not hold the run.
  std::vector<std::pair<std::string, std::string>> not_held_by;
  /// What the tier had to do or could not.
  std::vector<Sentence> said = {};
  /// The shim's file, as /proc/PID/maps shows it; empty: another tier.
  std::string image = {};
  /// What the samples say: told with a record, and not kept in it.
  std::optional<CapOutcome> outcome;
  /// What may name folders of its owner.
  void leave_out_private() {
    not_held_by.clear();
    said.clear();
    image.clear();
  }
  friend bool operator==(const RunCap&, const RunCap&) = default;
};

/// `simulated`: nothing was measured. `seen`: of the shim; nothing: it was not.
[[nodiscard]] CapOutcome outcome_of(const RunCap& cap,
                                    const std::vector<std::optional<Bytes>>& promised,
                                    const Summary& summary, bool simulated,
                                    const std::optional<CapSeen>& seen = std::nullopt);

}  // namespace berth
