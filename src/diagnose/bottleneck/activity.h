#pragma once
// Activity: what a job and its GPUs did, step by step. `berth explain` judges what runs now by it
// (rules.h). It comes from ten seconds of watching, or from a run's record. It has a format of its
// own (activity_json.h, doc/FORMATS.md), so it can be attached to a report and explained elsewhere.
// A step tells of that step alone: of a counter it has the growth.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "snapshot/job_counters.h"

namespace berth::bottleneck {

/// Whose words the advice is given in.
enum class Framework { unknown, torch, tensorflow, jax };
[[nodiscard]] std::string_view name_of(Framework framework);  // empty: unknown
[[nodiscard]] Framework framework_from_name(std::string_view name);

/// Where a series comes from: a record has no threads, no children and one look per second.
enum class TakenBy { watch, run_samples };
[[nodiscard]] std::string_view name_of(TakenBy by);

struct DeviceFacts {
  DeviceId id;
  std::optional<int> index;
  Reading<std::string> name;
  Reading<Bytes> memory_total;
  Reading<Milliwatts> power_limit;
  Reading<Milliwatts> power_limit_default;
  Reading<Megahertz> clock_sm_max;
  Reading<std::uint64_t> pcie_generation;  // the best of card and slot: an idle link rests at less
  Reading<std::uint64_t> pcie_width;
  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// The reasons that hold the clocks down. Being idle does not count.
struct Throttle {
  bool power = false;  // the power limit, or the supply
  bool heat = false;
  bool other = false;  // somebody's setting, a slower card of its group
  friend bool operator==(const Throttle&, const Throttle&) = default;
};

struct DeviceStep {
  bool lost = false;
  Reading<Percent> utilization;  // share of the step in which a kernel ran
  Reading<Percent> utilization_min;
  Reading<Percent> utilization_max;
  Reading<Percent> utilization_memory;
  Reading<Bytes> memory_used;
  Reading<Milliwatts> power;
  Reading<Celsius> temperature;
  Reading<Megahertz> clock_sm;
  Reading<Throttle> throttle;
  Reading<Bytes> pcie_sent;
  Reading<Bytes> pcie_received;
  Reading<Bytes> nvlink;  // both directions
  Reading<Percent> sm;
  Reading<Percent> tensor;
  Reading<Percent> dram;
  Reading<std::uint64_t> others;  // processes on it that are not of the job
  Reading<Percent> others_utilization;
  friend bool operator==(const DeviceStep&, const DeviceStep&) = default;
};

struct ThreadStep {
  pid_t tid = 0;
  char state = '?';
  Milliseconds cpu{0};
  friend bool operator==(const ThreadStep&, const ThreadStep&) = default;
};

/// One process of the job in one step.
struct ProcessStep {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
  Reading<char> state;
  std::vector<std::size_t> devices;  // positions of those that it holds
  Reading<Bytes> gpu_memory;
  Reading<Percent> sm;
  Reading<Milliseconds> cpu;
  Reading<Milliseconds> run_delay;  // its threads were ready and waited for a CPU, all together
  Reading<Bytes> storage_read;
  Reading<Bytes> read;  // by read calls, what the page cache gave included
  Reading<Bytes> written;
  Reading<std::uint64_t> voluntary_switches;
  Reading<std::uint64_t> involuntary_switches;
  Reading<std::uint64_t> major_faults;
  Reading<Bytes> swapped;  // of its memory, at the step's end
  Reading<std::vector<ThreadStep>> threads;
  friend bool operator==(const ProcessStep&, const ProcessStep&) = default;
};

struct HostStep {
  Reading<Percent> cpu_busy;  // of all CPUs together
  Reading<Percent> iowait;
  Reading<Percent> io_pressure;
  Reading<Bytes> swap_in;
  friend bool operator==(const HostStep&, const HostStep&) = default;
};

struct ActivitySample {
  Milliseconds end{0};
  Milliseconds span{0};
  std::vector<DeviceStep> devices;  // in the order of Activity::devices
  std::vector<ProcessStep> processes;
  HostStep host;
  friend bool operator==(const ActivitySample&, const ActivitySample&) = default;
};

/// What the run's record tells of all its time, where each look read each device.
struct WholeLife {
  Milliseconds span{0};
  std::uint64_t looks = 0;
  Percent busiest{0};  // the highest utilisation of any device
  Bytes memory{0};     // the most that the job held
  friend bool operator==(const WholeLife&, const WholeLife&) = default;
};

struct Activity {
  static constexpr int format_version = 1;

  WallTime taken;
  TakenBy taken_by = TakenBy::watch;
  std::optional<std::string> simulated;
  std::string subject;  // "GPU 0", "run 20251121-…", "process 4711"
  Framework framework = Framework::unknown;
  Reading<std::uint64_t> ranks;
  Reading<std::uint64_t> cpus;
  Reading<double> cpus_allowed;
  std::optional<CpuFacts> cpu_side;
  std::optional<WholeLife> life;
  std::vector<DeviceFacts> devices;
  std::vector<ActivitySample> steps;
  /// Lines of a file that were no steps.
  std::uint64_t torn_lines = 0;
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// The whole time that the steps cover.
[[nodiscard]] Milliseconds span_of(const Activity& activity);

}  // namespace berth::bottleneck
