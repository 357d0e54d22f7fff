#pragma once
// The control groups of a process, by the text of its /proc/PID/cgroup. `mounted`: /sys/fs/cgroup.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct ControlGroup {
  std::string_view controllers;  // "cpu,cpuacct"; empty: version 2, which has one tree for all
  std::string_view path;         // "/user.slice"
  [[nodiscard]] bool has(std::string_view controller) const;
};
[[nodiscard]] std::vector<ControlGroup> control_groups_in(std::string_view text);

/// The folders of its group and of those above it, nearest first, up to the tree's top. Where the
/// path is the host's, a container sees its own group at the top. Empty `controller`: of version 2.
/// Empty: it is in none, or beside all that is seen here ("/..").
[[nodiscard]] std::vector<std::string> group_folders(std::string_view text,
                                                     std::string_view controller,
                                                     const std::string& mounted);

/// Unit    CPUs: the tightest quota of its groups and of those above them.
/// Absent  nothing: there is no limit.
/// Source  cpu.max (version 2), cpu.cfs_quota_us and cpu.cfs_period_us (version 1).
[[nodiscard]] std::optional<double> cpu_quota(std::string_view text, const std::string& mounted);

}  // namespace berth
