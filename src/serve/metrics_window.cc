#include "serve/metrics_window.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "snapshot/recorded.h"

namespace berth::serve {

namespace {

/// The driver's samples between two looks say more than the look itself. Only a deep look has them.
struct DriverSamples {
  std::string_view key;
  Detail least;
  Detail mean;
  Detail most;
};
constexpr auto driver_samples = std::to_array<DriverSamples>({
    {"utilization_gpu_percent", Detail::window_utilization_gpu_min,
     Detail::window_utilization_gpu_mean, Detail::window_utilization_gpu_max},
    {"utilization_memory_percent", Detail::window_utilization_memory_min,
     Detail::window_utilization_memory_mean, Detail::window_utilization_memory_max},
    {"power_draw_milliwatts", Detail::window_power_min, Detail::window_power_mean,
     Detail::window_power_max},
});

std::optional<double> finite_in(const Cell& cell) {
  const auto number = plain_number(cell);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Empty: the driver told none of this reading.
Aggregate<> sampled(std::string_view key, const Details& details) {
  const auto* row = std::ranges::find(driver_samples, key, &DriverSamples::key);
  if (row == driver_samples.end()) return {};
  const auto least = finite_in(details.cell(row->least));
  const auto mean = finite_in(details.cell(row->mean));
  const auto most = finite_in(details.cell(row->most));
  if (!least || !mean || !most) return {};
  return {1, *least, *mean, *most};
}

/// Each look counts as one, however many samples the driver had of it.
Aggregate<> history_since(const Device& device, Duration since_last) {
  Aggregate<> all;
  if (!device.utilization_history.get()) return all;
  for (const UtilizationSample& sample : *device.utilization_history.get()) {
    const double busy = sample.busy.count();
    if (std::chrono::milliseconds(sample.age.count()) > since_last || !std::isfinite(busy))
      continue;
    all.add(busy);
  }
  return all.is_empty() ? all : Aggregate<>(1, all.least(), all.mean(), all.most());
}

Aggregate<> look_value(const Field& field, const Device& device, const Snapshot& snapshot,
                       Duration since_last) {
  Aggregate<> value = sampled(field.key, device.details);
  if (value.is_empty() && field.key == "utilization_gpu_percent") {
    value = history_since(device, since_last);
  }
  const auto now = value.is_empty() ? finite_in(field.read(device, snapshot)) : std::nullopt;
  if (now) value.add(*now);
  return value;
}

}  // namespace

std::span<const WindowRow> window_rows() {
  static const std::vector<WindowRow> rows = [] {
    std::vector<WindowRow> all;
    for (const RecordedReading& one : recorded_readings) {
      if (one.is_drawn(Drawn::in_window)) all.push_back({find_field(one.key)});
    }
    for (const Detail detail :
         {Detail::activity_sm, Detail::activity_tensor, Detail::activity_dram}) {
      all.push_back({&field_of(detail)});
    }
    return all;
  }();
  return rows;
}

std::string WindowRow::family() const {
  constexpr std::string_view before = "berth_device_";
  return std::string(before) + "window_" + std::string(field->metric.substr(before.size()));
}

const WindowStatistic* DeviceWindow::of(std::string_view key) const {
  const auto rows = window_rows();
  const auto row =
      std::ranges::find(rows, key, [](const WindowRow& one) { return one.field->key; });
  if (row == rows.end()) return nullptr;
  const auto& found = statistics.at(static_cast<std::size_t>(row - rows.begin()));
  return found ? &*found : nullptr;
}

const DeviceWindow* WindowStatistics::of(const DeviceId& device, std::size_t position) const {
  if (position < devices.size() && devices[position].device == device) return &devices[position];
  const auto found = std::ranges::find(devices, device, &DeviceWindow::device);
  return found == devices.end() ? nullptr : &*found;
}

void WindowKeeper::add(const Snapshot& snapshot, Instant now) {
  const Duration since_last =
      looks_.empty() ? std::chrono::seconds(1) : std::min(now - looks_.back().at, length_);
  WindowLook look{.at = now};
  for (const Device& device : snapshot.devices) {
    DeviceLook& one = look.devices.emplace_back(DeviceLook{.device = device.id});
    for (const WindowRow& row : window_rows()) {
      one.values.push_back(look_value(*row.field, device, snapshot, since_last));
    }
  }
  looks_.push_back(std::move(look));
  while (now - looks_.front().at >= length_) looks_.pop_front();
  statistics_ = {.span = now - looks_.front().at, .looks = looks_.size()};
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
  DeviceWindow window{.device = device};
  std::vector<double> means;
  for (std::size_t row = 0; row < window_rows().size(); ++row) {
    means.clear();
    WindowStatistic statistic;
    for (const DeviceLook* look : there) {
      const Aggregate<>& value = look->values[row];
      if (value.is_empty()) continue;
      statistic.looks.add(value);
      means.push_back(value.mean());
    }
    if (!means.empty()) statistic.p95 = nearest_rank_95(means);
    window.statistics.push_back(means.empty() ? std::nullopt : std::optional(statistic));
  }
  return window;
}

void XidTally::add(const Reading<std::vector<XidEvent>>& events) {
  if (!events.get()) return;
  std::uint64_t newest = newest_;
  for (const XidEvent& event : *events.get()) {
    if (event.number > newest_) count(event);
    newest = std::max(newest, event.number);
  }
  newest_ = newest;
}

void XidTally::count(const XidEvent& event) {
  const auto key = [](const XidCount& one) { return std::tie(one.pci_address, one.code); };
  const XidCount wanted{.pci_address = event.pci_address, .code = event.code};
  auto found = std::ranges::lower_bound(counts_, key(wanted), {}, key);
  if (found == counts_.end() || key(*found) != key(wanted)) found = counts_.insert(found, wanted);
  ++found->count;
  found->last = std::max(found->last, event.at);
}

}  // namespace berth::serve
