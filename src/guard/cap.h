#pragma once
// Which tier holds a job to its share of a device's memory. It is the requested one, else the
// strongest available here, with the reason against stronger ones. Pure; who can have what is
// gathered in run/.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "snapshot/claim.h"

namespace berth {

/// Why each tier cannot be had here, in English; nothing: it can. The watchdog always can.
struct CapFacts {
  std::optional<Sentence> no_kernel;
  std::optional<Sentence> no_mps;
  std::optional<Sentence> no_shim;
};

/// What one CUDA context takes of a device beside what its program allocates. Nothing tells it
/// before one is made: an H100 with driver 580 took 527 MiB, small cards of older drivers 130. So
/// there are two figures. The least is charged before a context is made, and the sampler adds the
/// rest. A larger charge would refuse small programs memory that fits.
inline constexpr Bytes least_of_a_context{std::uint64_t{128} << 20};
/// The usual is left free where a program is told its share, and tolerated where it is measured.
inline constexpr Bytes usual_of_a_context{std::uint64_t{512} << 20};
/// At most a tenth of a small share.
[[nodiscard]] inline Bytes context_within(Bytes share, Bytes context) {
  return std::min(context, Bytes(share.count() / 10));
}

struct CapChoice {
  CapTier tier = CapTier::watchdog;
  /// Those that are stronger, the strongest first, each with the reason.
  std::vector<std::pair<CapTier, Sentence>> stronger;
  friend bool operator==(const CapChoice&, const CapChoice&) = default;
};

/// `asked`: nothing means the strongest. unsupported: it cannot be had; says why and what can.
[[nodiscard]] Result<CapChoice> choose_cap(std::optional<CapTier> asked, const CapFacts& facts);

}  // namespace berth
