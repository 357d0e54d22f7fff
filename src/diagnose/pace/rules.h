#pragma once
// The rules of `berth explain` for what runs now. Each finds one cause, or nothing; none speaks of
// what was not read. The order in which pace.cc asks them decides among causes that explain the
// same time: what brings about the symptoms of another comes before it.

#include <optional>

#include "diagnose/finding.h"
#include "diagnose/pace/activity.h"
#include "diagnose/pace/advice.h"
#include "diagnose/pace/features.h"
#include "diagnose/pace/thresholds.h"

namespace berth::pace {

struct Seen {
  const Activity& activity;
  const Features& features;
  const Thresholds& thresholds;
};

struct Cause {
  Finding finding;
  double cost = 0;  // share of the GPU's time that it explains
};
using Rule = std::optional<Cause> (*)(const Seen& seen);

// rules_nothing.cc: nothing is asked of the GPU
std::optional<Cause> nothing_running(const Seen& seen);
std::optional<Cause> memory_held_idle(const Seen& seen);
std::optional<Cause> computes_on_cpu(const Seen& seen);
// rules_loader.cc: the data comes too slowly
std::optional<Cause> loader_cpu_bound(const Seen& seen);
std::optional<Cause> loader_too_few_workers(const Seen& seen);
std::optional<Cause> loader_storage_bound(const Seen& seen);
// rules_process.cc: the main process, or what it runs on, is too slow
std::optional<Cause> serial_python(const Seen& seen);
std::optional<Cause> host_device_copies(const Seen& seen);
std::optional<Cause> too_few_cpus(const Seen& seen);
std::optional<Cause> swapping(const Seen& seen);
// rules_kernels.cc: the GPU works, and less well than it could
std::optional<Cause> small_kernels(const Seen& seen);
std::optional<Cause> memory_bound(const Seen& seen);
std::optional<Cause> throttled_power(const Seen& seen);
std::optional<Cause> throttled_heat(const Seen& seen);
// rules_others.cc: it waits for somebody, or shares
std::optional<Cause> waiting_for_ranks(const Seen& seen);
std::optional<Cause> periodic_pauses(const Seen& seen);
std::optional<Cause> shared_with_others(const Seen& seen);

// rules_words.cc: what several of them ask and say

/// No kernel ran for a good part of the time.
[[nodiscard]] bool gpu_waits(const Seen& seen);
/// Kernels hardly ever ran.
[[nodiscard]] bool gpu_is_still(const Seen& seen);
/// Kernels ran for most of the time.
[[nodiscard]] bool gpu_runs(const Seen& seen);
/// A thread of the main process has work in nearly all of the time in which no kernel runs.
[[nodiscard]] bool main_is_saturated(const Seen& seen);
/// The process on the devices that does most; null: none is.
[[nodiscard]] const ProcessLoad* main_process(const Seen& seen);

[[nodiscard]] std::string percent(double share);         // "42 %"
[[nodiscard]] std::string decimal(double value);         // "1.6"
[[nodiscard]] std::string size_rate(double per_second);  // "512 MiB/s"
/// "a kernel ran 42 % of the time that was watched (10 s)"
[[nodiscard]] Sentence busy_sentence(const Seen& seen);
/// Why it may be wrong, where part of the evidence could not be read; empty: it was.
[[nodiscard]] Sentence doubt_of(const Seen& seen);

}  // namespace berth::pace
