#pragma once
// What to change, in the words of the framework in use.

#include <vector>

#include "diagnose/bottleneck/activity.h"
#include "snapshot/finding.h"

namespace berth::bottleneck {

enum class Advice {
  more_workers,     // more processes or threads that load
  lighter_loading,  // less to do per sample
  faster_storage,   // fewer, larger reads; a nearer disk
  overlap,          // prepare the next batch while the GPU computes
  pinned_copies,    // pinned memory, asynchronous copies, data that stays on the device
  bigger_work,      // larger batches, fused kernels
  less_traffic,     // mixed precision, fusion
  shorter_pauses,   // asynchronous checkpoints, fewer evaluations
  onto_the_device,  // the model or the data was never moved there
  balance_ranks,    // the same work for every rank
};

/// Steps for one cause, the surest first. `workers`: how many would fit the CPUs; 0: not known.
[[nodiscard]] std::vector<Finding::Step> advice(Advice what, Framework framework, int workers = 0);

}  // namespace berth::bottleneck
