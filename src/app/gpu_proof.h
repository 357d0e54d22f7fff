#pragma once
// `berth doctor --gpu-test`: chooses the devices to test, and leases each of them meanwhile. So no
// job is put onto a device under test, and none is disturbed.

#include <string>
#include <vector>

#include "app/context.h"
#include "base/result.h"
#include "host_environment/gpu_proof.h"
#include "snapshot/snapshot.h"

namespace berth {

struct GpuProofOptions {
  std::string devices;  // as -i takes them; empty: all
  bool force = false;   // also beside somebody who is on it
};

/// Tests one after the other: two at once would share the host's memory and bus. invalid: -i names
/// no device; busy, io: the ledger.
[[nodiscard]] Result<std::vector<GpuProof>> prove_gpus(Context& context, const Snapshot& snapshot,
                                                       const GpuProofOptions& options);

}  // namespace berth
