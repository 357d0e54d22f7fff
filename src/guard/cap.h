#pragma once
// Which tier holds a job to its share of a device's memory: the one that was asked for, else the
// strongest that can be had here, and why no stronger one. Pure; who can have what is gathered in
// run/.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "snapshot/claim.h"

namespace berth {

/// Why each tier cannot be had here, in English; nothing: it can. The watchdog always can.
struct CapFacts {
  std::optional<std::string> no_kernel;
  std::optional<std::string> no_mps;
  std::optional<std::string> no_shim;
};

struct CapChoice {
  CapTier tier = CapTier::watchdog;
  /// Those that are stronger, the strongest first, each with the reason.
  std::vector<std::pair<CapTier, std::string>> stronger;
  friend bool operator==(const CapChoice&, const CapChoice&) = default;
};

/// `asked`: nothing means the strongest. unsupported: it cannot be had; says why and what can.
[[nodiscard]] Result<CapChoice> choose_cap(std::optional<CapTier> asked, const CapFacts& facts);

}  // namespace berth
