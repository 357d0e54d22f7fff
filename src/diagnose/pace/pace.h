#pragma once
// Why a GPU is not busy: every rule over an Activity, what costs most of the GPU's time first. The
// first finding is the answer; of a GPU that is well used there is none.

#include "diagnose/pace/activity.h"
#include "diagnose/pace/features.h"
#include "diagnose/pace/thresholds.h"
#include "snapshot/finding.h"

namespace berth::pace {

struct Pace {
  Findings findings;  // what costs most first
  Features features;
};
[[nodiscard]] Pace explain_pace(const Activity& activity, const Thresholds& thresholds = {});

}  // namespace berth::pace
