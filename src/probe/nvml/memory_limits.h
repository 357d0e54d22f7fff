#pragma once
// Limits of device memory that the kernel keeps a control group to: driver 615 and newer, cgroup
// v2. Root sets them, by nvidia-smi, a container's engine or a scheduler; anybody may read them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "probe/sources.h"

namespace berth::nvml {

/// By UUID, what holds the control group of this process on each device that has a limit: its own,
/// or that of the nearest group above. Asked in a child, as a driver may hang. unsupported: there
/// can be none here; says why.
[[nodiscard]] Result<std::map<std::string, Bytes>> memory_limits(const Sources& sources,
                                                                 Clock& clock);

/// The directories of a process's group and of those above it, nearest first; `cgroups`: where
/// they are mounted. From the text of its /proc/PID/cgroup; empty: it is in none of version 2.
/// Pure.
[[nodiscard]] std::vector<std::string> groups_of(std::string_view text, const std::string& cgroups);

}  // namespace berth::nvml
