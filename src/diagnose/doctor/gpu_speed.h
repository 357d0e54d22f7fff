#pragma once
// What a device should do, to hold a test's figures against.

#include <optional>
#include <string>

#include "base/sentence.h"
#include "compute/proof.h"
#include "snapshot/device.h"

namespace berth::doctor {

/// Operations or bytes per second at the very best: single precision without tensor cores at the
/// highest clock, the memory's bandwidth, the PCIe link at its best. Nothing: not known of this
/// device, or there is no such figure for the step.
[[nodiscard]] std::optional<double> best_rate(compute::ProofOf what, const Device& device);

/// The share of it that is still well. berth's kernel is a simple one, so of its product little is
/// asked; what a link or a memory loses to its protocol is far less than this leaves.
[[nodiscard]] double least_share(compute::ProofOf what);

/// "14.2 TFLOP/s", "2.41 TB/s".
[[nodiscard]] std::string rate_text(compute::ProofOf what, double per_second);
/// "a copy to GPU 1".
[[nodiscard]] Sentence words_of(const compute::ProofStep& step);

}  // namespace berth::doctor
