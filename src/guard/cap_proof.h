#pragma once
// Whether the means that hold a run to its share reached its processes, as far as it can be told.
// Pure.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/sentence.h"
#include "base/units.h"
#include "snapshot/claim.h"

namespace berth {

enum class Proved { yes, no, unknown };
[[nodiscard]] std::string_view word_of(Proved proved);
struct CapProof {
  Proved proved = Proved::unknown;
  Sentence why;  // empty: it is proved
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
  /// Why it does not hold all of them, empty: it was in each that was looked into.
  Sentence gap;
  friend bool operator==(const CapSeen&, const CapSeen&) = default;
};

/// More than what was counted, a tenth, and a context: that much no tier sees.
[[nodiscard]] bool is_far_above(Bytes measured, Bytes counted);

struct CapEvidence {
  /// For each device: what was promised, and the most that the driver measured of the run's own
  /// processes. Empty: nothing was sampled yet.
  std::vector<std::optional<Bytes>> promised;
  std::vector<Reading<Bytes>> highest;
  bool simulated = false;  // nothing was measured
  CapSeen shim;
};
/// The watchdog is proved where it could read what the run's processes have.
[[nodiscard]] CapProof proof_of(CapTier tier, const CapEvidence& evidence);

}  // namespace berth
