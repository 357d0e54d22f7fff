#pragma once
// What a record says of a run's share of memory: what was to hold it there, and whether it did, as
// far as anybody can tell.

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

/// One device of the run, so far.
struct CapOnDevice {
  std::optional<Bytes> limit;
  Reading<Bytes> highest_measured;  // by the driver, of the run's processes
  Reading<Bytes> highest_charge;    // by the tier; unsupported: it does not count
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
  /// Of what the samples say: told with a record, and not kept in it.
  std::optional<CapOutcome> outcome;
  friend bool operator==(const RunCap&, const RunCap&) = default;
};

/// The watchdog is proved where it could read what the run's processes have. `simulated`: nothing
/// was measured.
[[nodiscard]] CapOutcome outcome_of(const RunCap& cap,
                                    const std::vector<std::optional<Bytes>>& promised,
                                    const Summary& summary, bool simulated);

}  // namespace berth
