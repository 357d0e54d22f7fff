#pragma once
// Features: the few numbers of an Activity that rules decide by, computed once. Shares are of the
// time, 0 to 1. A feature is absent if what it is computed from was not read.

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/reading.h"
#include "base/units.h"
#include "diagnose/bottleneck/activity.h"
#include "diagnose/bottleneck/phases.h"
#include "diagnose/bottleneck/thresholds.h"

namespace berth::bottleneck {

/// Kernels ran and one of the driver's reasons held the clocks far below the highest.
struct Cap {
  double share = 0;             // of the time
  std::optional<double> clock;  // meanwhile, as a share of the highest
};

/// One device over the time that counts.
struct DeviceLoad {
  std::optional<double> busy;         // a kernel ran
  std::optional<double> sm;           // SM activity while kernels ran
  std::optional<double> tensor;       // likewise
  std::optional<double> dram;         // likewise
  std::optional<double> memory_busy;  // memory utilisation while kernels ran
  std::optional<double> power;        // power as a share of the limit, while kernels ran
  std::optional<double> clock;        // SM clock as a share of the highest, while kernels ran
  std::optional<double> pcie;         // the busier direction, as a share of what the link carries
  std::optional<double> pcie_rate;    // that direction, bytes per second
  bool receives = false;              // that direction is from the host
  std::optional<double> nvlink_rate;  // both directions, bytes per second
  Cap power_cap;
  Cap heat_cap;
  std::optional<double> spinning;  // busy throughout, SMs nearly still
  std::optional<double> others;    // utilisation by others
  std::uint64_t most_others = 0;
  bool knows_others = true;  // who else is there was told in every step
  bool lost = false;
};

/// One process over that time, in shares of one CPU.
struct ProcessLoad {
  pid_t pid = 0;
  std::string name;
  double cpu = 0;
  double wanted = 0;        // cpu, and the time in which it waited for one
  double main_thread = 0;   // wanted by its first thread alone
  double best_thread = 0;   // wanted by the busiest
  int working_threads = 0;  // besides the first
  double disk_wait = 0;     // share of looks that found a thread of it in the state D
};

/// A group of processes: those on the devices, or those that load for them.
struct Group {
  std::vector<ProcessLoad> processes;
  [[nodiscard]] double cpu() const;
  [[nodiscard]] double wanted() const;
};

struct Features {
  double seconds = 0;          // all that was seen
  double seconds_counted = 0;  // without pauses that repeat, start-up and tail
  std::vector<DeviceLoad> devices;
  std::optional<double> busy_whole;  // pauses included, mean of the devices
  std::optional<double> busy;        // of the time that counts
  [[nodiscard]] double idle() const { return busy ? 1 - *busy : 0; }
  Phases phases;

  bool saw_processes = false;  // the job's processes could be looked at
  bool saw_threads = false;
  bool saw_io = false;  // what they read
  Group holders;        // processes on the devices
  Group workers;        // children that work or wait for storage; not the holders' parents
  int workers_all = 0;
  int saturated_workers = 0;
  double wanted = 0;                  // CPUs' worth of threads that want to run, of the whole job
  double cpu = 0;                     // CPUs that the job used
  std::optional<double> run_delay;    // share of the wanted time spent waiting for a CPU
  std::optional<double> preemptions;  // per second: a thread was taken off a CPU with work left
  std::optional<double> cpus;         // that the job may use
  std::optional<double> cpus_host;
  std::optional<double> cpus_busy_by_others;
  std::optional<double> storage_rate;  // bytes per second from storage
  std::optional<double> read_rate;     // bytes per second by read calls
  std::optional<double> io_pressure;
  std::optional<double> swap_rate;
  std::optional<double> major_faults;  // per second
  std::optional<double> swapped_bytes;
  std::optional<double> gpu_memory;  // of the job
  std::uint64_t ranks = 1;
};

/// Most of the children that work are busy all the time.
[[nodiscard]] bool loaders_never_rest(const Features& features);

[[nodiscard]] Features features_of(const Activity& activity, const Thresholds& thresholds);

/// Bytes per second that a PCIe link carries in one direction; nothing: a generation that we do not
/// know.
[[nodiscard]] std::optional<double> pcie_capacity(const DeviceFacts& facts);

// What a counter grew by between two looks.

/// Absent  failed: it is less than before, so it began again (a driver reloaded, a pid reused).
template <class T>
[[nodiscard]] Reading<T> growth(const Reading<T>& before, const Reading<T>& now) {
  if (!now.get()) return now.why();
  if (!before.get()) return before.why();
  if constexpr (std::is_arithmetic_v<T>) {
    if (*now.get() < *before.get()) return Absent::failed;
    return static_cast<T>(*now.get() - *before.get());
  } else {
    const auto grown = minus(*now.get(), *before.get());
    return grown ? Reading<T>(*grown) : Reading<T>(Absent::failed);
  }
}

}  // namespace berth::bottleneck
