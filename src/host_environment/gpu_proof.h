#pragma once
// Whether devices really compute, and how fast. compute/proof.h runs in a process of its own per
// device, which a driver may hang or crash.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/sentence.h"
#include "compute/proof.h"

namespace berth {

/// What the test of one device came to.
struct GpuProof {
  DeviceId device;
  /// In the order in which they were done; the last may be unfinished.
  std::vector<compute::ProofStep> steps;
  unsigned cpu_threads = 0;  // of the product on the CPU
  /// Why nothing was asked of it: somebody is on it, it is simulated, …, for people; empty: it was.
  Sentence left_out;
  bool is_taken = false;  // that is why: it could be tested beside its processes
  friend bool operator==(const GpuProof&, const GpuProof&) = default;
};

struct GpuProofQuestion {
  std::string library = "libcuda.so.1";
  DeviceId device;
  /// As the driver writes it: "GPU-1a2b…", "MIG-…". The child's CUDA_VISIBLE_DEVICES has to show
  /// it, and the peers.
  std::string uuid;
  /// Devices to copy to afterwards: UUID and what to call it.
  std::vector<std::pair<std::string, std::string>> peers;
  unsigned cpu_threads = 1;
  Duration patience = std::chrono::seconds(20);
};

[[nodiscard]] GpuProof prove_gpu(const GpuProofQuestion& question, Clock& clock);

/// What the child printed, a step per line. A step that began and was not done is unfinished.
/// `bad_end` is how the child ended; empty: with 0. It always shows: after the last done step it
/// makes `closing` unfinished.
[[nodiscard]] std::vector<compute::ProofStep> parse_proof(std::string_view text,
                                                          std::string_view bad_end);

}  // namespace berth
