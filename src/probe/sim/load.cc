#include "probe/sim/load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "probe/sim/motion.h"

namespace berth::sim {

namespace {

/// Replaces a value that is there; a reading that the device does not have stays absent.
template <class T>
void replace(Reading<T>& reading, double value) {
  if (!reading.get()) return;
  reading = T(static_cast<typename T::rep>(std::llround(std::max(value, 0.0))));
}
void replace(Reading<std::uint64_t>& reading, std::uint64_t value) {
  if (reading.get()) reading = value;
}
template <class T>
double count_of(const Reading<T>& reading, double otherwise) {
  return reading.get() ? static_cast<double>(reading.get()->count()) : otherwise;
}

/// What the driver keeps is about 20 s in samples a second apart or closer.
constexpr int history_seconds = 20;

/// What a training job's kernels do of the time in which the device is busy.
struct Activity {
  Detail detail;
  double share;
};
constexpr auto activities = std::to_array<Activity>({
    {Detail::activity_graphics, 1},
    {Detail::activity_sm, 0.88},
    {Detail::activity_occupancy, 0.46},
    {Detail::activity_integer, 0.21},
    {Detail::activity_tensor, 0.52},
    {Detail::activity_dram, 0.45},
    {Detail::activity_fp32, 0.17},
    {Detail::activity_fp16, 0.06},
});

void put_activities(Device& device, double percent) {
  for (const auto& [detail, share] : activities) {
    if (device.details.get<Percent>(detail).get()) {
      device.details.set(detail, Reading<Percent>(Percent(percent * share)));
    }
  }
}

void put_history(Device& device, const std::function<double(double)>& percent_ago) {
  if (!device.utilization_history.get()) return;
  std::vector<UtilizationSample> history;
  for (int age = 0; age < history_seconds; ++age) {
    history.push_back(
        {Milliseconds(age * 1000 + 100), Percent(std::round(percent_ago(age + 0.1)))});
  }
  device.utilization_history = std::move(history);
}

}  // namespace

double most_power_milliwatts(const Device& device, double idle) {
  return std::max(idle, count_of(device.power_limit, idle) * 0.93);
}

void put_under_load(Device& device, const std::function<double(double)>& percent_ago) {
  const double percent = std::clamp(percent_ago(0), 0.0, 100.0);
  // Metal is slower than silicon: the temperature follows the last half minute.
  double warm = 0;
  constexpr int thermal_seconds = 30;
  for (int age = 0; age < thermal_seconds; ++age) warm += percent_ago(age) / thermal_seconds;

  const double idle_temperature = count_of(device.temperature, 0);
  const double hottest = count_of(device.temperature_slowdown, idle_temperature + 55) - 18;
  const double idle_power = count_of(device.power_draw, 0);
  const double most_power = most_power_milliwatts(device, idle_power);

  replace(device.utilization_gpu, percent);
  replace(device.utilization_memory, percent * 0.45);
  replace(device.temperature, idle_temperature + (hottest - idle_temperature) * warm / 100);
  replace(device.temperature_memory,
          count_of(device.temperature_memory, 0) + (hottest - idle_temperature) * warm / 100);
  replace(device.power_draw, idle_power + (most_power - idle_power) * percent / 100);
  replace(device.clock_graphics, count_of(device.clock_graphics_max, 0) * 0.97);
  replace(device.clock_sm, count_of(device.clock_sm_max, 0) * 0.97);
  if (device.details.get<Megahertz>(Detail::clock_video).get()) {
    // The video engines' clock stays below that of the multiprocessors: 1,545 of 1,980 MHz.
    const double video = count_of(device.clock_sm_max, 0) * 0.78;
    device.details.set(
        Detail::clock_video,
        Reading<Megahertz>(Megahertz(static_cast<std::uint64_t>(std::llround(video)))));
  }
  replace(device.clock_memory, count_of(device.clock_memory_max, 0));
  replace(device.fan_speed, 30 + 50 * warm / 100);
  replace(device.performance_state, std::uint64_t{0});
  replace(device.throttle_reasons, 0);
  if (device.pcie_generation_max.get()) {
    replace(device.pcie_generation, *device.pcie_generation_max.get());
  }
  put_activities(device, percent);
  put_history(device, percent_ago);
}

void tell_power_in_each_way(Device& device) {
  for (const Detail detail : {Detail::power_draw_average, Detail::power_draw_instant}) {
    if (device.details.cell(detail).why() != Absent::not_sampled) continue;
    if (device.power_draw.get()) device.details.set(detail, device.power_draw);
  }
}

namespace {

/// Seconds of full work since the job began: add_jobs lets it start from a tenth and be at full
/// work after nine tenths of a second.
double seconds_of_work(WallTime since, WallTime now) {
  const double seconds =
      static_cast<double>(std::max<std::int64_t>(0, now.unix_ms - since.unix_ms)) / 1000;
  constexpr double ramp = 0.9;
  const double within = std::min(seconds, ramp);
  return within * within / 2 + 0.1 * within + std::max(0.0, seconds - ramp);
}

double rate_of(const Device& device) {
  if (!device.power_draw.get() || !device.power_limit.get()) return 0;
  const auto idle = static_cast<double>(device.power_draw.get()->count());
  const double percent = device.utilization_gpu.get().value_or(Percent{0}).count();
  const double added = std::min(100.0, percent + job_percent);
  return (most_power_milliwatts(device, idle) - idle) * added / 100;
}

}  // namespace

JobEnergy::JobEnergy(const Snapshot& base) {
  for (const Device& device : base.devices) rates_[device.id] = rate_of(device);
}

void JobEnergy::end_those_not_in(const std::vector<Claim>& running, WallTime now) {
  std::erase_if(jobs_, [&](const auto& job) {
    const auto& [whose, since] = job;
    const bool runs = std::ranges::find(running, whose.first, &Claim::id) != running.end();
    if (!runs) used_[whose.second] += rates_[whose.second] * seconds_of_work(since, now);
    return !runs;
  });
}

void JobEnergy::add(Snapshot& snapshot, const std::vector<Claim>& running) {
  end_those_not_in(running, snapshot.taken);
  std::map<DeviceId, double> used = used_;
  for (const Claim& claim : running) {
    for (const ClaimedDevice& claimed : claim.devices) {
      jobs_.insert_or_assign({claim.id, claimed.device}, claim.since);
      used[claimed.device] += rates_[claimed.device] * seconds_of_work(claim.since, snapshot.taken);
    }
  }
  for (Device& device : snapshot.devices) {
    if (!device.energy.get() || device.lost || !device.unusable_because.empty()) continue;
    const auto found = used.find(device.id);
    if (found == used.end()) continue;
    device.energy = *device.energy.get() + Millijoules(static_cast<std::uint64_t>(found->second));
  }
}

}  // namespace berth::sim
