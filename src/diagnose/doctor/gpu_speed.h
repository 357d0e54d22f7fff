#pragma once
// What a device should do, to hold a test's figures against.

#include <optional>
#include <string>

#include "base/sentence.h"
#include "compute/proof.h"
#include "snapshot/device.h"

namespace berth::doctor {

/// The highest possible operations or bytes per second. For arithmetic: single precision without
/// tensor cores at the highest clock. Else the memory's bandwidth, or the PCIe link at its best.
/// Nothing: not known of this device, or there is no such figure for the step.
[[nodiscard]] std::optional<double> best_rate(compute::ProofOf what, const Device& device);

/// The share of it that is still well. berth's kernel is a simple one, so little is asked of its
/// product. A link or a memory loses far less to its protocol than this leaves.
[[nodiscard]] double least_share(compute::ProofOf what);

/// "14.2 TFLOP/s", "2.41 TB/s".
[[nodiscard]] std::string rate_text(compute::ProofOf what, double per_second);
/// "a copy to GPU 1".
[[nodiscard]] Sentence words_of(const compute::ProofStep& step);

}  // namespace berth::doctor
