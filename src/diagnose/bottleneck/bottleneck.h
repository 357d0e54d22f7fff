#pragma once
// Why a GPU is not busy: every rule over an Activity, what costs most of the GPU's time first. The
// first finding is the answer; of a GPU that is well used there is none.

#include "diagnose/bottleneck/activity.h"
#include "diagnose/bottleneck/features.h"
#include "diagnose/bottleneck/thresholds.h"
#include "snapshot/finding.h"

namespace berth::bottleneck {

struct Bottleneck {
  Findings findings;  // what costs most first
  Features features;
};
[[nodiscard]] Bottleneck explain_bottleneck(const Activity& activity,
                                            const Thresholds& thresholds = {});

}  // namespace berth::bottleneck
