#pragma once
// Why a GPU is not busy: every rule over an Activity, what costs most of the GPU's time first. The
// first finding is the answer; of a GPU that is well used there is none.

#include <optional>
#include <span>
#include <string>
#include <vector>

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

// The rules of `berth explain` for what runs now. A rule is a function and its row, in the table
// that ends rules/SUBJECT.cc. Its test stands beside that file. Each finds one cause, or nothing.
// None speaks of what was not read.

struct Evidence {
  const Activity& activity;
  const Features& features;
  const Thresholds& thresholds;
};

struct Cause {
  Finding finding;
  double cost = 0;  // share of the GPU's time that it explains
};

struct BottleneckRule {
  std::optional<Cause> (*find)(const Evidence& seen);
  Reported reports[most_reported];
};

// rules/SUBJECT.cc
[[nodiscard]] std::span<const BottleneckRule> idle_job_rules();
[[nodiscard]] std::span<const BottleneckRule> device_rules();
[[nodiscard]] std::span<const BottleneckRule> host_rules();
[[nodiscard]] std::span<const BottleneckRule> kernels_rules();

/// All of them. The order decides among causes that explain the same time: what brings about the
/// symptoms of another comes before it.
[[nodiscard]] const std::vector<BottleneckRule>& all_rules();

// Questions that several rules ask of the features.

/// No kernel ran for a good part of the time.
[[nodiscard]] bool gpu_waits(const Evidence& seen);
/// Kernels hardly ever ran.
[[nodiscard]] bool gpu_is_still(const Evidence& seen);
/// Kernels ran for most of the time.
[[nodiscard]] bool gpu_runs(const Evidence& seen);
/// A thread of the main process has work in nearly all of the time in which no kernel runs.
[[nodiscard]] bool main_is_saturated(const Evidence& seen);
/// The process on the devices that does most; null: none is.
[[nodiscard]] const ProcessLoad* main_process(const Evidence& seen);

// How rules say what was read.

[[nodiscard]] std::string percent(double share);         // "42 %"
[[nodiscard]] std::string decimal(double value);         // "1.6"
[[nodiscard]] std::string size_rate(double per_second);  // "512 MiB/s"
/// "a kernel ran 42 % of the time that was watched (10 s)"
[[nodiscard]] Sentence busy_sentence(const Evidence& seen);
/// Why it may be wrong, where part of the evidence could not be read; empty: it was.
[[nodiscard]] Sentence doubt_of(const Evidence& seen);

}  // namespace berth::bottleneck
