#pragma once
// Summary: a run in a few numbers, from its samples. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "record/sample.h"

namespace berth {

enum class EnergySource { counter, integrated_power };
/// Whose memory the peak is: that of the run's processes, by the driver's list. Where the driver
/// tells no process's memory: all that was used on the device.
enum class MemorySource { own_processes, whole_device };

struct DeviceSummary {
  Reading<Percent> mean_utilization;
  Reading<Bytes> memory_peak;
  MemorySource memory_source = MemorySource::own_processes;
  /// The most that the run's own processes had at once. Absent: why that of none of them could be
  /// read; not sampled: none was seen there.
  Reading<Bytes> own_memory_peak = Absent::not_sampled;
  Reading<Millijoules> energy;  // of the whole device, including others on it
  EnergySource energy_source = EnergySource::counter;
  Reading<Celsius> temperature_peak;
  /// For how long nothing was read of it: no figure here holds anything of that time. Not sampled:
  /// an older record, which does not tell.
  Reading<Milliseconds> not_read = Absent::not_sampled;
  friend bool operator==(const DeviceSummary&, const DeviceSummary&) = default;
};

struct Summary {
  std::uint64_t samples = 0;
  std::vector<DeviceSummary> devices;                  // as Manifest::given.devices
  Reading<Percent> mean_utilization;                   // over devices and time
  Reading<Millijoules> energy;                         // of all devices; absent where one is
  EnergySource energy_source = EnergySource::counter;  // integrated where any part is
  Reading<Bytes> tree_memory_peak;
  Reading<Milliseconds> tree_cpu;
  /// Of a run without a device: the most processes seen at once with a GPU device file open. The
  /// same for processes that the driver lists on a GPU. And in how many looks. 0: no look saw one;
  /// between two looks nothing is seen.
  Reading<std::uint64_t> device_files_open;
  Reading<std::uint64_t> device_files_looks;  // not sampled: an older record
  Reading<std::uint64_t> gpu_contexts;
  Reading<std::uint64_t> gpu_contexts_looks;
  friend bool operator==(const Summary&, const Summary&) = default;
};

/// Takes samples one by one, oldest first, and keeps only what the summary needs.
class Summarizer {
 public:
  void add(const Sample& sample);
  /// The run ended then: how long the last sample was ago may be time that was not read.
  void end(WallTime at);
  [[nodiscard]] Summary summary() const;

 private:
  struct Gathered {
    double utilization_sum = 0;
    std::uint64_t utilization_count = 0;
    Absent utilization_why = Absent::not_sampled;
    std::optional<Bytes> own_peak;
    Absent own_why = Absent::not_sampled;
    std::optional<Bytes> used_peak;
    Absent memory_why = Absent::not_sampled;
    std::optional<Millijoules> energy_first;
    std::optional<Millijoules> energy_last;
    bool energy_was_reset = false;
    Absent energy_why = Absent::not_sampled;
    double integrated_millijoules = 0;
    std::optional<Milliwatts> power_last;
    std::optional<WallTime> power_at;
    std::uint64_t power_steps = 0;
    std::optional<Celsius> hottest;
    Absent temperature_why = Absent::not_sampled;
    Milliseconds not_read{0};
  };
  void add_device(Gathered& gathered, const DeviceSample& device, WallTime at);
  [[nodiscard]] std::int64_t step_to(WallTime at) const;
  std::vector<Gathered> devices_;
  std::optional<WallTime> last_at_;
  std::uint64_t samples_ = 0;
  std::optional<Bytes> tree_memory_peak_;
  std::optional<Milliseconds> tree_cpu_;
  /// The most of something, and how often it was looked for with an answer.
  struct Most {
    std::optional<std::uint64_t> value;
    std::uint64_t looks = 0;
    Absent why = Absent::not_sampled;
    void add(const Reading<std::uint64_t>& seen);
    [[nodiscard]] Reading<std::uint64_t> looks_taken() const;
  };
  Most device_files_;
  Most gpu_contexts_;
};

}  // namespace berth
