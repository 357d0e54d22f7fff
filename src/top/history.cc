#include "top/history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace berth::top {

namespace {

constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;
/// A process that has gone is remembered for so long, in case the driver only missed it.
constexpr std::int64_t remembered_ms = 30'000;
constexpr std::int64_t most_missed = 600;

std::optional<float> point_of(const berth::Cell& cell) {
  const auto number = plain_number(cell);
  return number && std::isfinite(*number) ? std::optional(static_cast<float>(*number))
                                          : std::nullopt;
}

/// Nothing: no time has passed, or the counter went back.
std::optional<double> cpu_share(WallTime before, Milliseconds used_before, WallTime now,
                                Milliseconds used_now) {
  const double passed = static_cast<double>(now.unix_ms) - static_cast<double>(before.unix_ms);
  const double used =
      static_cast<double>(used_now.count()) - static_cast<double>(used_before.count());
  if (passed <= 0 || used < 0) return std::nullopt;
  return 100.0 * used / passed;
}

/// By their numbers; of two with the same one the first.
std::vector<const HostProcess*> sorted_by_pid(const Snapshot& snapshot) {
  std::vector<const HostProcess*> all;
  all.reserve(snapshot.processes.size());
  for (const HostProcess& process : snapshot.processes) all.push_back(&process);
  const auto pid = [](const HostProcess* process) { return process->id.pid; };
  if (!std::ranges::is_sorted(all, {}, pid)) std::ranges::stable_sort(all, {}, pid);
  return all;
}

}  // namespace

void CpuShares::add(const Snapshot& snapshot) {
  std::vector<Used> now;
  now.reserve(snapshot.processes.size());
  for (const HostProcess& process : snapshot.processes) {
    const auto& time = process.cpu_time.get();
    if (!time) continue;
    const Used* before = find(used_, process.id);
    // By the readings' own times where both tell them (a recording may be of two versions).
    const bool by_reading = process.read && before != nullptr && before->read;
    Used& used = now.emplace_back(
        Used{.id = process.id, .looked = snapshot.taken, .read = process.read, .time = *time});
    if (before == nullptr) continue;
    used.share = by_reading ? cpu_share(*before->read, before->time, *used.read, *time)
                            : cpu_share(before->looked, before->time, used.looked, *time);
  }
  if (!std::ranges::is_sorted(now, {}, &Used::id)) std::ranges::stable_sort(now, {}, &Used::id);
  used_ = std::move(now);
}

const CpuShares::Used* CpuShares::find(const std::vector<Used>& used, const ProcessId& id) {
  const auto place = std::ranges::lower_bound(used, id, {}, &Used::id);
  return place != used.end() && place->id == id ? &*place : nullptr;
}

std::optional<double> CpuShares::of(const ProcessId& id) const {
  const Used* used = find(used_, id);
  return used == nullptr ? std::nullopt : used->share;
}

void Series::add(std::optional<float> value) {
  if (values_.size() < capacity_) {
    values_.push_back(value);
    most_ = std::max(most_, value);  // nothing is less than anything
  } else {
    const auto forgotten = std::exchange(values_[added_ % capacity_], value);
    most_ = forgotten && forgotten == most_ ? std::ranges::max(values_) : std::max(most_, value);
  }
  ++added_;
}

std::optional<float> Series::at(std::size_t number) const {
  if (number >= added_ || added_ - number > values_.size()) return std::nullopt;
  return values_[number % capacity_];
}

std::optional<float> Series::latest() const { return added_ == 0 ? std::nullopt : at(added_ - 1); }

std::vector<Aggregate<float>> Series::columns(std::size_t count, std::size_t samples_each) const {
  std::vector<Aggregate<float>> columns(count);
  if (count == 0 || samples_each == 0 || added_ == 0) return columns;
  const std::size_t last_group = (added_ - 1) / samples_each;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t back = count - 1 - i;
    if (back > last_group) continue;
    const std::size_t first = (last_group - back) * samples_each;
    for (std::size_t number = first; number < first + samples_each; ++number) {
      if (const auto value = at(number)) columns[i].add(*value);
    }
  }
  return columns;
}

DevicesMean mean_of_devices(const Snapshot& snapshot) {
  Aggregate<float> busy;
  Aggregate<float> full;
  for (const Device& device : snapshot.devices) {
    if (device.parent) continue;
    if (const auto load = point_of(cell_of(device.utilization_gpu))) busy.add(*load);
    const auto& used = device.memory_used.get();
    const auto& total = device.memory_total.get();
    if (!used || !total || total->count() == 0) continue;
    full.add(static_cast<float>(100.0 * static_cast<double>(used->count()) /
                                static_cast<double>(total->count())));
  }
  const auto mean = [](const Aggregate<float>& of) {
    return of.is_empty() ? std::nullopt : std::optional(static_cast<float>(of.mean()));
  };
  return {mean(busy), mean(full)};
}

std::optional<float> seen_now(std::string_view key, const Device& device) {
  static const Snapshot nothing_else;
  return point_of(find_field(key)->read(device, nothing_else));
}

const Series& DeviceHistory::of(std::string_view key) const {
  const auto* one = std::ranges::find(seen_only, key);
  if (one == seen_only.end()) return series_.at(place_of_recorded(key));
  return seen_only_.at(static_cast<std::size_t>(one - seen_only.begin()));
}

void DeviceHistory::add(const Device* device) {
  for (std::size_t i = 0; i < seen_only_.size(); ++i) {
    seen_only_[i].add(device != nullptr ? seen_now(seen_only[i], *device) : std::nullopt);
  }
  const DeviceSample sample = device != nullptr ? sample_of(*device) : DeviceSample{};
  for (std::size_t i = 0; i < recorded_readings.size(); ++i) {
    const RecordedReading& reading = recorded_readings[i];
    if (!reading.is_drawn(Drawn::live)) continue;
    series_[i].add(point_of(reading.read(sample)));
  }
}

void ProcessHistory::add_blank() {
  for (Series* series : {&memory, &sm, &cpu}) series->add({});
}

void History::add(const Snapshot& snapshot) {
  const std::int64_t cadence_ms = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(cadence_).count());
  if (last_ && snapshot.taken > *last_) {
    const double passed =
        static_cast<double>(snapshot.taken.unix_ms) - static_cast<double>(last_->unix_ms);
    const double missed = std::floor(passed / static_cast<double>(cadence_ms) + 0.5) - 1;
    if (missed > 0) {
      add_blanks(static_cast<std::size_t>(std::min<double>(missed, most_missed)));
    }
  }
  add_devices(snapshot);
  add_processes(snapshot);
  last_ = snapshot.taken;
}

void History::add_blanks(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (Series* series :
         {&host_.cpu, &host_.memory, &host_.load, &host_.devices_busy, &host_.devices_full}) {
      series->add({});
    }
    for (auto& [id, device] : devices_) device.add(nullptr);
    for (auto& [id, uses] : processes_) {
      for (auto& [device, process] : uses) process.add_blank();
    }
  }
}

void History::add_host(const HostUse& use) {
  const auto as_float = [](std::optional<double> value) {
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
  };
  host_.cpu.add(as_float(use.cpu_percent));
  host_.memory.add(as_float(memory_percent(use)));
  host_.load.add(as_float(use.load));
}

void History::add_devices(const Snapshot& snapshot) {
  const DevicesMean mean = mean_of_devices(snapshot);
  host_.devices_busy.add(mean.busy);
  host_.devices_full.add(mean.full);
  for (const Device& device : snapshot.devices) devices_[device.id].add(&device);
  // Gone for now: its time goes on.
  for (auto& [id, history] : devices_) {
    const bool is_there = std::any_of(snapshot.devices.begin(), snapshot.devices.end(),
                                      [&](const Device& device) { return device.id == id; });
    if (!is_there) history.add(nullptr);
  }
}

void History::add_processes(const Snapshot& snapshot) {
  cpu_.add(snapshot);
  const std::vector<const HostProcess*> by_pid = sorted_by_pid(snapshot);
  for (const GpuProcess& use : snapshot.gpu_processes) {
    const auto found = std::ranges::lower_bound(
        by_pid, use.pid, {}, [](const HostProcess* process) { return process->id.pid; });
    const bool is_known = found != by_pid.end() && (*found)->id.pid == use.pid;
    const ProcessId id = is_known ? (*found)->id : ProcessId{.pid = use.pid};
    ProcessHistory& history = processes_[id][use.device];
    const auto& memory = use.memory.get();
    history.memory.add(memory ? std::optional(static_cast<float>(
                                    static_cast<double>(memory->count()) / bytes_per_gib))
                              : std::nullopt);
    history.sm.add(point_of(cell_of(use.utilization_sm)));
    const auto share = cpu_.of(id);
    history.cpu.add(share ? std::optional(static_cast<float>(*share)) : std::nullopt);
    history.seen = snapshot.taken;
  }
  const auto is_forgotten = [&](const auto& use) {
    const std::int64_t seen = use.second.seen.unix_ms;
    return seen != snapshot.taken.unix_ms &&
           snapshot.taken.unix_ms / 2 - seen / 2 > remembered_ms / 2;
  };
  for (auto& [id, uses] : processes_) {
    std::erase_if(uses, is_forgotten);
    for (auto& [device, history] : uses) {
      if (history.seen != snapshot.taken) history.add_blank();  // its time goes on
    }
  }
  std::erase_if(processes_, [](const auto& entry) { return entry.second.empty(); });
}

const DeviceHistory* History::device(const DeviceId& id) const {
  const auto found = devices_.find(id);
  return found == devices_.end() ? nullptr : &found->second;
}

const ProcessHistory* History::process(const DeviceId& device, const ProcessId& id) const {
  const auto uses = processes_.find(id);
  if (uses == processes_.end()) return nullptr;
  const auto found = uses->second.find(device);
  return found == uses->second.end() ? nullptr : &found->second;
}

}  // namespace berth::top
