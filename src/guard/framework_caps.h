#pragma once
// Variables by which frameworks keep themselves to a share of a device. They are set beside every
// tier: a program that knows its share plans with it. Each is set only for a version that is known
// to understand it, and never where the user chose one. Pure.

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "snapshot/claim.h"

namespace berth {

/// One device of the job, which is shared.
struct FrameworkShare {
  Bytes promised;
  Bytes total;
};

/// What to set, name and value. `environment`: the job's, as NAME=value. `packages`: names and
/// versions of its Python's. Fractions are of the whole device: where a tier shows the share as the
/// whole (shim, kernel) they are not set.
///
/// TensorFlow has no variable for a cap: its memory grows as needed instead of being taken whole.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> framework_variables(
    CapTier tier, const std::vector<FrameworkShare>& shares,
    const std::vector<std::string>& environment,
    const std::vector<std::pair<std::string, std::string>>& packages);

}  // namespace berth
