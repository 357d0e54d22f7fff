#pragma once
// What the kernel counts of a job's processes and threads, and of the host beside them, at one
// moment. Counters only ever grow; what they grew by between two moments is a step of an activity
// (diagnose/bottleneck/activity.h). Plain data; probe/procfs/job_probe.h reads it.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "snapshot/device.h"

namespace berth {

struct ThreadCounters {
  pid_t tid = 0;
  char state = '?';
  std::uint64_t cpu_ns = 0;
  std::uint64_t delay_ns = 0;  // ready to run, waiting for a CPU
  friend bool operator==(const ThreadCounters&, const ThreadCounters&) = default;
};

/// One process. Absent  no_permission: its files are for its owner; failed: it ended meanwhile;
/// unsupported: this kernel does not count it.
struct ProcessCounters {
  ProcessId id;
  pid_t parent = 0;
  std::string name;  // comm
  char state = '?';
  Milliseconds cpu{0};  // of all its threads, ended ones included
  Reading<std::vector<ThreadCounters>> threads;
  bool knows_delays = false;  // delay_ns and cpu_ns in nanoseconds: the kernel keeps schedstats
  Reading<Bytes> storage_read;
  Reading<Bytes> read;
  Reading<Bytes> written;
  Reading<std::uint64_t> voluntary_switches;
  Reading<std::uint64_t> involuntary_switches;
  Reading<std::uint64_t> major_faults;
  Reading<Bytes> swapped;
  friend bool operator==(const ProcessCounters&, const ProcessCounters&) = default;
};

struct HostCounters {
  Reading<std::uint64_t> cpu_all_ticks;
  Reading<std::uint64_t> cpu_idle_ticks;  // without waiting for storage
  Reading<std::uint64_t> cpu_iowait_ticks;
  Reading<Microseconds> io_pressure;  // some task stood still for storage
  Reading<Bytes> swap_in;
  friend bool operator==(const HostCounters&, const HostCounters&) = default;
};

struct JobCounters {
  std::vector<ProcessCounters> processes;  // by pid; those that can be read
  std::vector<pid_t> roots;                // its first processes, whether they can be read or not
  HostCounters host;
  friend bool operator==(const JobCounters&, const JobCounters&) = default;
};

/// What the files of a job's processes tell of one that is on no GPU (proc(5)).
struct CpuFacts {
  Reading<std::uint64_t> device_files;   // processes that have a GPU's device file open
  Reading<Milliseconds> age;             // of its oldest process
  Reading<std::string> visible_devices;  // of the variable that hides every device
  std::string hiding_variable;           // its name; empty: none does
  std::optional<DeviceKind> kind;        // of the devices that the job has; nothing: not known
  bool framework_for_cpu = false;        // of PyTorch, the build without any GPU is loaded
  friend bool operator==(const CpuFacts&, const CpuFacts&) = default;
};

}  // namespace berth
