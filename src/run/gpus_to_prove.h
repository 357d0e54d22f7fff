#pragma once
// Which GPUs `berth doctor --gpu-test` computes on, and to which other each of them copies. Pure;
// app/gpu_proof.cc leases and tests them (host_environment/gpu_proof.h).

#include <string>
#include <vector>

#include "base/result.h"
#include "place/placement.h"
#include "snapshot/snapshot.h"

namespace berth {

struct GpuToProve {
  const Device* device = nullptr;
  const Device* peer = nullptr;  // what it copies to; null: there is none
};

/// `list`: as -i takes it; empty: all that CUDA computes on. Each copies to the next in the list,
/// round about, so that every way is tried once; a MIG instance copies to nobody, as a program sees
/// one. invalid: no such device.
[[nodiscard]] Result<std::vector<GpuToProve>> gpus_to_prove(const Snapshot& snapshot,
                                                            const std::string& list);

/// Somebody is on it: `--force` tests beside them. Anything else (not ours to use, not readable)
/// stays.
[[nodiscard]] bool is_somebody(Rule rule);

}  // namespace berth
