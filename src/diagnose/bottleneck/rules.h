#pragma once
// The rules of `berth explain` for what runs now. A rule is a function and its row, in the table
// that ends rules/SUBJECT.cc; its test stands beside that file. Each finds one cause, or nothing;
// none speaks of what was not read.

#include <optional>
#include <span>
#include <vector>

#include "diagnose/bottleneck/activity.h"
#include "diagnose/bottleneck/features.h"
#include "diagnose/bottleneck/thresholds.h"
#include "snapshot/finding.h"

namespace berth::bottleneck {

struct Seen {
  const Activity& activity;
  const Features& features;
  const Thresholds& thresholds;
};

struct Cause {
  Finding finding;
  double cost = 0;  // share of the GPU's time that it explains
};

struct Rule {
  std::optional<Cause> (*find)(const Seen& seen);
  Reported reports[most_reported];
};

// rules/SUBJECT.cc
[[nodiscard]] std::span<const Rule> idle_job_rules();
[[nodiscard]] std::span<const Rule> device_rules();
[[nodiscard]] std::span<const Rule> host_rules();
[[nodiscard]] std::span<const Rule> kernels_rules();

/// All of them. The order decides among causes that explain the same time: what brings about the
/// symptoms of another comes before it.
[[nodiscard]] const std::vector<Rule>& all_rules();

}  // namespace berth::bottleneck
