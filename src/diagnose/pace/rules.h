#pragma once
// The rules of `berth explain` for what runs now, each in rules/NAME.cc with its test beside it.
// Each finds one cause, or nothing; none speaks of what was not read. The order in which pace.cc
// asks them decides among causes that explain the same time: what brings about the symptoms of
// another comes before it.

#include <optional>

#include "diagnose/finding.h"
#include "diagnose/pace/activity.h"
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

// Nothing is asked of the GPU.
std::optional<Cause> nothing_running(const Seen& seen);
std::optional<Cause> memory_held_idle(const Seen& seen);
std::optional<Cause> computes_on_cpu(const Seen& seen);

// The data comes too slowly.
std::optional<Cause> loader_cpu_bound(const Seen& seen);
std::optional<Cause> loader_too_few_workers(const Seen& seen);
std::optional<Cause> loader_storage_bound(const Seen& seen);

// The main process, or what it runs on, is too slow.
std::optional<Cause> serial_python(const Seen& seen);
std::optional<Cause> host_device_copies(const Seen& seen);
std::optional<Cause> too_few_cpus(const Seen& seen);
std::optional<Cause> swapping(const Seen& seen);

// The GPU works, and less well than it could.
std::optional<Cause> small_kernels(const Seen& seen);
std::optional<Cause> memory_bound(const Seen& seen);
std::optional<Cause> throttled_power(const Seen& seen);
std::optional<Cause> throttled_heat(const Seen& seen);

// It waits for somebody, or shares.
std::optional<Cause> waiting_for_ranks(const Seen& seen);
std::optional<Cause> periodic_pauses(const Seen& seen);
std::optional<Cause> shared_with_others(const Seen& seen);

}  // namespace berth::pace
