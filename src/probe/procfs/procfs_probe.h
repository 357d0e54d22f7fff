#pragma once
// ProcfsProbe: who the processes on the devices are, as /proc and the passwd file say. Reading a
// command line can block for ever: a stuck thread may hold the lock of the process's memory. Asking
// a directory service for a name can block, too. So each is a step of its own, which the probe
// process (probe/probe_process) can leave out.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_stat.h"
#include "probe/procfs/parse.h"
#include "probe/procfs/stat_reader.h"
#include "snapshot/snapshot.h"

namespace berth {

struct ProcfsSource {
  std::string proc = "/proc";
  std::string passwd = "/etc/passwd";
  std::string kernel_log = "/dev/kmsg";
};

class ProcfsProbe {
 public:
  /// `ticks_per_second`: of the kernel's clock in /proc/PID/stat, 100 on every Linux.
  explicit ProcfsProbe(ProcfsSource source, std::int64_t ticks_per_second = 100);

  /// Host name, kernel and boot id, where not known yet.
  void observe_host(Host& host);

  /// With the user's number as the name, and without its command where that has not been asked for
  /// yet. A process that has gone, or that may not be seen, says so in its readings.
  [[nodiscard]] HostProcess look_at(pid_t pid);
  /// Masked. May block for as long as the process is stuck.
  [[nodiscard]] Reading<std::vector<std::string>> command_of(pid_t pid);
  /// From the passwd file; nothing: not there.
  [[nodiscard]] std::optional<std::string> local_user(uid_t uid);
  /// From the directory services that the machine is set up for. May block for very long.
  [[nodiscard]] static std::optional<std::string> directory_user(uid_t uid);

  /// Whether the process with this number here is the one that the driver's list means by it. In a
  /// container a driver lists the host's numbers, or (some newer ones) the container's, and does
  /// not say which. There a process counts only if its open files or a lease show it on the device.
  /// Also true of one that is not listed. May block.
  [[nodiscard]] bool is_the_listed_one(pid_t pid, const Snapshot& seen,
                                       const std::vector<Claim>& claims);

  /// How far a process in disk sleep (state "D") has come, read anew. Two equal answers mean that
  /// it did not run between them. Nothing: it is not in that state, or cannot be read.
  struct DiskSleep {
    ProcessId id;
    std::uint64_t cpu_ticks = 0;
    std::uint64_t context_switches = 0;
    friend bool operator==(const DiskSleep&, const DiskSleep&) = default;
  };
  [[nodiscard]] std::optional<DiskSleep> disk_sleep_of(pid_t pid) const;

  /// Every process of this machine that has a device's file open.
  ///
  /// Absent  failed, no_permission: /proc itself could not be listed.
  [[nodiscard]] Reading<DeviceFiles> device_files();

  /// Processes that the kernel killed for want of memory, by its log, oldest first. no_permission:
  /// the log is root's (kernel.dmesg_restrict).
  [[nodiscard]] Reading<std::vector<OomKill>> oom_kills(WallTime now) const;

  /// When the NVIDIA module was loaded, by its log, oldest first. As oom_kills().
  [[nodiscard]] Reading<std::vector<DriverLoad>> driver_loads(WallTime now) const;

  /// Forgets what was read for one look. What rarely changes stays for thirty looks at most: the
  /// host's name and boot time; of a process its user, control group and command. The latter stay
  /// while the process does not run. While it runs they stay for a few seconds, unless it is seen
  /// to become another program. For what else stays see StatReader.
  void begin_look();

 private:
  struct Kept {
    std::uint64_t start_ticks = 0;
    std::string executable_name;
    std::optional<std::uint64_t> stack_begin;
    std::optional<Duration> cpu_time;  // when it was read
    Instant read_at;
    Reading<uid_t> uid = Absent::failed;
    Reading<std::string> container = Absent::failed;
    std::optional<Enclosure> enclosure;
    std::optional<std::vector<std::string>> command;  // nothing: not asked for yet
  };
  [[nodiscard]] bool has_open(pid_t pid, const Device* device) const;
  [[nodiscard]] bool is_in_job_on(pid_t pid, const DeviceId& device, const Snapshot& seen,
                                  const std::vector<Claim>& claims);
  const Kept& kept_of(pid_t pid, const StatRead& read);
  [[nodiscard]] bool is_fresh(const Kept& kept, const StatRead& read) const;
  void read_cgroup(pid_t pid, Kept& kept);
  [[nodiscard]] std::string path_of(pid_t pid, std::string_view file) const;
  Reading<uid_t> user_of(pid_t pid);
  [[nodiscard]] Reading<std::string> process_view(const Host& host) const;

  ProcfsSource source_;
  std::int64_t ticks_per_second_;
  StatReader stats_;
  std::map<pid_t, Kept> kept_;
  unsigned looks_ = 0;
  Instant now_{};                             // of this look
  std::optional<std::int64_t> boot_seconds_;  // this and the host: for thirty looks
  std::optional<Host> host_;
  std::string cgroup_read_;  // the last text, and what it means
  std::optional<Enclosure> enclosure_read_;
  std::vector<std::string> words_read_;  // the last command, and what is shown of it
  std::vector<std::string> masked_read_;
  std::optional<std::string> passwd_;
};

/// Pids that a snapshot's devices and some claims' jobs name, each once, sorted.
[[nodiscard]] std::vector<pid_t> pids_named_by(const Snapshot& snapshot,
                                               const std::vector<Claim>& claims);

}  // namespace berth
