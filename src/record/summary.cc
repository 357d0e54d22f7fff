#include "record/summary.h"

#include <algorithm>
#include <map>

namespace berth {

namespace {
// 2.5 TWh. What is more comes from a broken file, and fits into no integer.
constexpr double most_millijoules = 9e18;

template <class T>
void keep_largest(std::optional<T>& largest, const T& value) {
  largest = largest ? std::max(*largest, value) : value;
}

template <class T>
Reading<T> or_absent(const std::optional<T>& value, Absent why) {
  return value ? Reading<T>(*value) : Reading<T>(why);
}

bool was_read(const DeviceSample& device) {
  bool any_missing = false;
  for (const RecordedReading& one : recorded_readings) {
    const Cell reading = one.read(device);
    if (reading.has_value()) return true;
    any_missing |= reading.why() != Absent::unsupported;
  }
  return !any_missing;
}
}  // namespace

void Summarizer::add_device(Gathered& gathered, const DeviceSample& device, WallTime at) {
  if (const auto& busy = device.utilization_gpu.get()) {
    gathered.utilization_sum += busy->count();
    ++gathered.utilization_count;
  } else {
    gathered.utilization_why = device.utilization_gpu.why();
  }
  if (const auto& used = device.memory_used.get()) {
    keep_largest(gathered.used_peak, *used);
  } else {
    gathered.memory_why = device.memory_used.why();
  }
  if (const auto& energy = device.energy.get()) {
    if (!gathered.energy_first) gathered.energy_first = *energy;
    if (gathered.energy_last && *energy < *gathered.energy_last) gathered.energy_was_reset = true;
    gathered.energy_last = *energy;
  }
  if (const auto& power = device.power_draw.get()) {
    if (gathered.power_last && gathered.power_at) {
      std::int64_t step = 0;  // does not fit into a number where the file's times are broken
      if (!__builtin_sub_overflow(at.unix_ms, gathered.power_at->unix_ms, &step) && step > 0 &&
          step <= longest_step_ms) {
        const double mean = (static_cast<double>(power->count()) +
                             static_cast<double>(gathered.power_last->count())) /
                            2.0;
        gathered.integrated_millijoules += mean * static_cast<double>(step) / 1000.0;
        ++gathered.power_steps;
      }
    }
    gathered.power_last = *power;
    gathered.power_at = at;
  } else {
    gathered.energy_why = device.power_draw.why();
  }
  if (const auto& temperature = device.temperature.get()) {
    keep_largest(gathered.hottest, *temperature);
  } else {
    gathered.temperature_why = device.temperature.why();
  }
}

void Summarizer::add(const Sample& sample) {
  ++samples_;
  if (devices_.size() < sample.devices.size()) devices_.resize(sample.devices.size());
  std::map<std::uint64_t, Bytes> own;
  for (const ProcessSample& process : sample.processes) {
    if (process.memory.get()) {
      own[process.device] += *process.memory.get();
    } else if (process.device < devices_.size()) {
      devices_[process.device].own_why = process.memory.why();
    }
  }
  const std::int64_t step = step_to(sample.at);
  last_at_ = sample.at;
  for (std::size_t at = 0; at < sample.devices.size(); ++at) {
    add_device(devices_[at], sample.devices[at], sample.at);
    if (step > longest_step_ms || !was_read(sample.devices[at])) {
      devices_[at].not_read += Milliseconds(step);
    }
    const auto mine = own.find(at);
    if (mine != own.end()) keep_largest(devices_[at].own_peak, mine->second);
  }
  keep_largest(tree_memory_peak_, sample.tree.memory_resident);
  keep_largest(tree_cpu_, sample.tree.cpu);
  device_files_.add(sample.tree.device_files_open);
  gpu_contexts_.add(sample.tree.gpu_contexts);
}

/// How long the sample before was ago; 0 where there was none or the file's times are broken.
std::int64_t Summarizer::step_to(WallTime at) const {
  constexpr std::int64_t longest = std::int64_t{1000} * 86'400'000;  // of a run, in ms
  std::int64_t step = 0;
  if (!last_at_ || __builtin_sub_overflow(at.unix_ms, last_at_->unix_ms, &step)) return 0;
  return step > 0 && step < longest ? step : 0;
}

void Summarizer::end(WallTime at) {
  const std::int64_t step = step_to(at);
  if (step <= longest_step_ms) return;
  for (Gathered& device : devices_) device.not_read += Milliseconds(step);
}

void Summarizer::Most::add(const Reading<std::uint64_t>& seen) {
  if (seen.get()) {
    keep_largest(value, *seen.get());
    ++looks;
  } else if (seen.why() != Absent::not_sampled) {
    why = seen.why();
  }
}

Reading<std::uint64_t> Summarizer::Most::looks_taken() const {
  return looks > 0 ? Reading<std::uint64_t>(looks) : Absent::not_sampled;
}

Summary Summarizer::summary() const {
  Summary summary;
  summary.samples = samples_;
  summary.tree_memory_peak = or_absent(tree_memory_peak_, Absent::not_sampled);
  summary.tree_cpu = or_absent(tree_cpu_, Absent::not_sampled);
  summary.device_files_open = or_absent(device_files_.value, device_files_.why);
  summary.device_files_looks = device_files_.looks_taken();
  summary.gpu_contexts = or_absent(gpu_contexts_.value, gpu_contexts_.why);
  summary.gpu_contexts_looks = gpu_contexts_.looks_taken();
  double busy_sum = 0;
  bool all_busy = !devices_.empty();
  bool all_energy = !devices_.empty();
  Absent why_not_busy = Absent::not_sampled;
  Absent why_no_energy = Absent::not_sampled;
  Millijoules energy{0};
  for (const Gathered& one : devices_) {
    DeviceSummary device;
    if (one.utilization_count > 0) {
      device.mean_utilization =
          Percent(one.utilization_sum / static_cast<double>(one.utilization_count));
      busy_sum += device.mean_utilization.get()->count();
    } else {
      device.mean_utilization = one.utilization_why;
      why_not_busy = one.utilization_why;
      all_busy = false;
    }
    device.memory_source = one.own_peak ? MemorySource::own_processes : MemorySource::whole_device;
    device.memory_peak = or_absent(one.own_peak ? one.own_peak : one.used_peak, one.memory_why);
    device.own_memory_peak = or_absent(one.own_peak, one.own_why);
    device.temperature_peak = or_absent(one.hottest, one.temperature_why);
    device.not_read = one.not_read;
    // A counter that went back was reset: the driver was reloaded. Its count since the sample
    // before is lost, so the power has to do.
    const bool has_counted = one.energy_first && !one.energy_was_reset;
    const auto counted = has_counted && *one.energy_last > *one.energy_first
                             ? minus(*one.energy_last, *one.energy_first)
                             : std::nullopt;
    if (counted) {
      device.energy = *counted;
    } else if (one.power_steps > 0 && one.integrated_millijoules < most_millijoules) {
      device.energy = Millijoules(static_cast<std::uint64_t>(one.integrated_millijoules));
      device.energy_source = summary.energy_source = EnergySource::integrated_power;
    } else {
      device.energy = one.energy_why;
      why_no_energy = one.energy_why;
      all_energy = false;
    }
    energy += device.energy.get().value_or(Millijoules{0});
    summary.devices.push_back(device);
  }
  summary.mean_utilization =
      all_busy ? Reading<Percent>(Percent(busy_sum / static_cast<double>(devices_.size())))
               : Reading<Percent>(why_not_busy);
  summary.energy = all_energy ? Reading<Millijoules>(energy) : Reading<Millijoules>(why_no_energy);
  return summary;
}

}  // namespace berth
