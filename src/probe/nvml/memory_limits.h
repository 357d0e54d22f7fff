#pragma once
// Limits of device memory that the kernel keeps a control group to: driver 615 and newer, cgroup
// v2. Root sets them, by nvidia-smi, a container's engine, a scheduler or `berth serve`; anybody
// may read them.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "probe/sources.h"

namespace berth::nvml {

constexpr std::string_view cgroups = "/sys/fs/cgroup";

/// By UUID, the limit of this process's control group on each device that has one. It is the
/// group's own, or that of the nearest group above. Asked in a child, as a driver may hang.
/// unsupported: there can be none here; not_found: none is set. Both say why.
[[nodiscard]] Result<std::map<std::string, Bytes>> memory_limits(const Sources& sources,
                                                                 Clock& clock);
/// The same for these groups, the nearest first, asked in this process.
[[nodiscard]] Result<std::map<std::string, Bytes>> memory_limits_of(
    const Sources& sources, const std::vector<std::string>& groups);

/// By UUID; nothing: none any more.
using NewLimits = std::map<std::string, std::optional<Bytes>>;
/// Root's alone: holds this group to them from now on, in this process. Stops at the first that the
/// driver refuses. A device that is not there has no limit to take away.
[[nodiscard]] Result<void> set_memory_limits(const Sources& sources, const std::string& group,
                                             const NewLimits& limits);

}  // namespace berth::nvml
