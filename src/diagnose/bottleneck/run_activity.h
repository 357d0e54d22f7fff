#pragma once
// What a run's record tells of its bottleneck: an Activity of its samples, one step each. A record
// has no threads, no children, and no reads from the page cache. So what rules need of those is
// absent, and their findings say so.

#include <span>

#include "diagnose/bottleneck/activity.h"
#include "record/run_record.h"

namespace berth::bottleneck {

[[nodiscard]] Activity activity_of(const Manifest& run, std::span<const Sample> samples);

/// What all of a run's samples tell together.
class LifeMeter {
 public:
  void add(const Sample& sample);
  /// Nothing: not every look read every device, or there were fewer than two.
  [[nodiscard]] std::optional<WholeLife> life() const;

 private:
  std::optional<WallTime> first_;
  WholeLife life_;
  bool is_whole_ = true;
};

/// The framework that a run's interpreter has installed, where it is one alone.
[[nodiscard]] Framework framework_of(const Manifest& run);

[[nodiscard]] DeviceFacts facts_of(const Device& device);

/// What the recorded readings tell of the time between them.
[[nodiscard]] DeviceStep step_of(const DeviceSample& before, const DeviceSample& now);

}  // namespace berth::bottleneck
