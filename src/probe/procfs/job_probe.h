#pragma once
// JobProbe: what the kernel counts of a job's processes and their threads, from /proc. Reads only
// files that never block, so it runs where it is asked: stat, schedstat, status and io, of a
// process and its threads. Other users' processes show all but what they read from files.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "snapshot/job_counters.h"

namespace berth {

struct JobProbeSource {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::int64_t ticks_per_second = 100;
};

/// A job's processes, by pid.
struct JobProcesses {
  std::vector<ProcessCounters> list;
  /// How many more there were. They were not looked at, so that a look stays a small part of a
  /// second.
  std::size_t left_out = 0;
};

/// How a job computes, without running anything of it. It follows from what its processes have
/// loaded and open, and from the launcher's number of ranks.
struct JobComputing {
  std::string framework;  // "torch", "jax", "tensorflow"; empty: none of these
  std::optional<std::uint64_t> ranks;
  std::optional<CpuFacts> cpu_side;  // of one on no GPU
};

class JobProbe {
 public:
  static constexpr std::size_t most_processes = 512;

  explicit JobProbe(JobProbeSource source = {}) : source_(std::move(source)) {}

  /// The processes `roots` and all that descend from them, zombies left out. Processes of
  /// `except_session` are not theirs: a keeper's sampler has a session of its own. Empty: they have
  /// ended. Of more than most_processes the roots come first, then the lowest pids.
  [[nodiscard]] JobProcesses processes(const std::vector<pid_t>& roots,
                                       std::optional<pid_t> except_session) const;
  [[nodiscard]] HostCounters host() const;

  /// CPUs that are online.
  [[nodiscard]] Reading<std::uint64_t> cpus() const;
  /// How many of them a process may use: its affinity, and the quota of its control group.
  [[nodiscard]] Reading<double> cpus_allowed(pid_t pid) const;
  /// `chief` is asked first. `is_on`: it is on a GPU, so that how it came there need not be asked.
  /// `kind`: its devices'; nothing: not known, and variables are read as CUDA does. Asked in a
  /// child, for a second: what is asked of another's memory can hang.
  [[nodiscard]] JobComputing computing(pid_t chief, const std::vector<ProcessCounters>& processes,
                                       bool is_on, std::optional<DeviceKind> kind,
                                       Clock& clock) const;

 private:
  [[nodiscard]] JobProcesses counters_of_all(const std::vector<pid_t>& roots,
                                             const std::set<pid_t>& wanted) const;
  [[nodiscard]] std::optional<ProcessCounters> counters_of(pid_t pid) const;
  void read_threads(pid_t pid, ProcessCounters& counters) const;
  [[nodiscard]] std::string path_of(pid_t pid, std::string_view file) const;
  JobProbeSource source_;
};

namespace procfs {

/// The first line of /proc/stat.
void parse_cpu_line(std::string_view stat, HostCounters& host);
/// Major faults in a line of /proc/PID/stat.
[[nodiscard]] std::optional<std::uint64_t> parse_major_faults(std::string_view stat);

}  // namespace procfs

}  // namespace berth
