#include "serve/metrics_window.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::serve {

namespace {

using enum Unit;

constexpr std::array<WindowRow, window_metric_count> window_rows = {{
    {"berth_device_window_utilization_ratio", "Share of time in which any kernel ran.", percent},
    {"berth_device_window_memory_utilization_ratio",
     "Share of time in which memory was read or written.", percent},
    {"berth_device_window_memory_used_bytes", "Memory allocated.", bytes},
    {"berth_device_window_power_watts", "Power drawn by the board.", milliwatts},
    {"berth_device_window_temperature_celsius", "Chip temperature.", celsius},
    {"berth_device_window_sm_clock_hertz", "Clock of the SMs.", megahertz},
    {"berth_device_window_sm_activity_ratio", "Share of SMs that were busy.", percent},
    {"berth_device_window_tensor_activity_ratio", "Share of time in which tensor cores worked.",
     percent},
    {"berth_device_window_dram_activity_ratio", "Share of the memory bandwidth used.", percent},
}};

template <class T>
std::optional<double> window_number(const Reading<T>& reading) {
  if (!reading.get()) return std::nullopt;
  const auto number = static_cast<double>(reading.get()->count());
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// What the driver sampled between two looks, where the look was deep enough to hold it.
template <class T>
std::optional<LookValue> driver_samples(const Device& device, Detail min, Detail mean, Detail max) {
  const auto lowest = window_number(device.details.get<T>(min));
  const auto middle = window_number(device.details.get<T>(mean));
  const auto highest = window_number(device.details.get<T>(max));
  if (!lowest || !middle || !highest) return std::nullopt;
  return LookValue{*lowest, *middle, *highest};
}

std::optional<LookValue> history_since(const Device& device, Duration since_last) {
  if (!device.utilization_history.get()) return std::nullopt;
  std::optional<LookValue> range;
  double count = 0;
  for (const UtilizationSample& sample : *device.utilization_history.get()) {
    const double busy = sample.busy.count();
    if (std::chrono::milliseconds(sample.age.count()) > since_last || !std::isfinite(busy))
      continue;
    if (!range) range = LookValue{busy, 0, busy};
    range->min = std::min(range->min, busy);
    range->max = std::max(range->max, busy);
    range->mean += busy;
    ++count;
  }
  if (range) range->mean /= count;
  return range;
}

template <class T>
std::optional<LookValue> single_value(const Reading<T>& reading) {
  const auto number = window_number(reading);
  return number ? std::optional(LookValue{*number, *number, *number}) : std::nullopt;
}

std::optional<LookValue> first_there(std::optional<LookValue> a,
                                     const std::optional<LookValue>& b) {
  return a ? a : b;
}

std::optional<LookValue> look_value(WindowMetric metric, const Device& device,
                                    Duration since_last) {
  const Details& details = device.details;
  switch (metric) {
    case WindowMetric::utilization:
      return first_there(
          driver_samples<Percent>(device, Detail::window_utilization_gpu_min,
                                  Detail::window_utilization_gpu_mean,
                                  Detail::window_utilization_gpu_max),
          first_there(history_since(device, since_last), single_value(device.utilization_gpu)));
    case WindowMetric::memory_utilization:
      return first_there(driver_samples<Percent>(device, Detail::window_utilization_memory_min,
                                                 Detail::window_utilization_memory_mean,
                                                 Detail::window_utilization_memory_max),
                         single_value(device.utilization_memory));
    case WindowMetric::memory_used:
      return single_value(device.memory_used);
    case WindowMetric::power:
      return first_there(
          driver_samples<Milliwatts>(device, Detail::window_power_min, Detail::window_power_mean,
                                     Detail::window_power_max),
          single_value(device.power_draw));
    case WindowMetric::temperature:
      return single_value(device.temperature);
    case WindowMetric::sm_clock:
      return single_value(device.clock_sm);
    case WindowMetric::sm_activity:
      return single_value(details.get<Percent>(Detail::activity_sm));
    case WindowMetric::tensor_activity:
      return single_value(details.get<Percent>(Detail::activity_tensor));
    case WindowMetric::dram_activity:
      return single_value(details.get<Percent>(Detail::activity_dram));
  }
  return std::nullopt;
}

double nearest_rank_95(std::vector<double>& values) {
  const auto rank = (values.size() * 95 + 99) / 100 - 1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

const WindowRow& row_of(WindowMetric metric) {
  return window_rows.at(static_cast<std::size_t>(metric));
}

const DeviceWindow* WindowStatistics::of(const DeviceId& device, std::size_t position) const {
  if (position < devices.size() && devices[position].device == device) return &devices[position];
  const auto found = std::ranges::find(devices, device, &DeviceWindow::device);
  return found == devices.end() ? nullptr : &*found;
}

void WindowKeeper::add(const Snapshot& snapshot, Instant now) {
  const Duration since_last =
      looks_.empty() ? std::chrono::seconds(1) : std::min(now - looks_.back().at, length_);
  WindowLook look{.at = now, .devices = {}};
  for (const Device& device : snapshot.devices) {
    DeviceLook& one = look.devices.emplace_back(DeviceLook{.device = device.id, .values = {}});
    for (std::size_t i = 0; i < window_metric_count; ++i) {
      one.values[i] = look_value(static_cast<WindowMetric>(i), device, since_last);
    }
  }
  looks_.push_back(std::move(look));
  while (now - looks_.front().at >= length_) looks_.pop_front();
  statistics_ = {.span = now - looks_.front().at, .looks = looks_.size(), .devices = {}};
  for (const DeviceLook& newest : looks_.back().devices) {
    statistics_.devices.push_back(summary(statistics_.devices.size(), newest.device));
  }
}

/// Nearly always at the same place; a device that came or went has moved the others.
const WindowKeeper::DeviceLook* WindowKeeper::find(const WindowLook& look, std::size_t position,
                                                   const DeviceId& device) {
  if (position < look.devices.size() && look.devices[position].device == device) {
    return &look.devices[position];
  }
  const auto found = std::ranges::find(look.devices, device, &DeviceLook::device);
  return found == look.devices.end() ? nullptr : &*found;
}

DeviceWindow WindowKeeper::summary(std::size_t position, const DeviceId& device) const {
  std::vector<const DeviceLook*> there;
  for (const WindowLook& look : looks_) {
    if (const DeviceLook* one = find(look, position, device)) there.push_back(one);
  }
  DeviceWindow window{.device = device, .statistics = {}};
  std::vector<double> means;
  for (std::size_t metric = 0; metric < window_metric_count; ++metric) {
    means.clear();
    WindowStatistic sum{.min = std::numeric_limits<double>::max(),
                        .max = std::numeric_limits<double>::lowest()};
    for (const DeviceLook* look : there) {
      const std::optional<LookValue>& value = look->values[metric];
      if (!value) continue;
      sum.min = std::min(sum.min, value->min);
      sum.max = std::max(sum.max, value->max);
      sum.mean += value->mean;
      means.push_back(value->mean);
    }
    if (means.empty()) continue;
    sum.mean /= static_cast<double>(means.size());
    sum.p95 = nearest_rank_95(means);
    window.statistics[metric] = sum;
  }
  return window;
}

}  // namespace berth::serve
