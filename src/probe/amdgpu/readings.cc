#include "probe/amdgpu/readings.h"

#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/amdgpu/parse.h"
#include "probe/sysfs/files.h"
#include "snapshot/details.h"

namespace berth::amdgpu {

namespace {

constexpr std::size_t longest_file = 4096;

Reading<Bytes> bytes_of(const std::string& path) { return sysfs::bytes_of(sysfs::number_of(path)); }
Reading<Milliwatts> power_of(const std::string& path) {
  return sysfs::power_of(sysfs::number_of(path));
}
Reading<Megahertz> clock_of(const std::string& path) {
  constexpr std::uint64_t hertz = 1'000'000;  // in a megahertz
  return sysfs::clock_of(sysfs::number_of(path), hertz);
}

/// A sensor's file begins with what is empty where the card lacks the sensor.
Reading<Celsius> heat_of(const std::string& sensor, std::string_view what) {
  if (sensor.empty()) return Absent::unsupported;
  return sysfs::heat_of(sysfs::number_of(sensor + std::string(what)));
}

Reading<Percent> busy_of(const std::string& path) {
  const Reading<std::uint64_t> told = sysfs::number_of(path);
  constexpr std::uint64_t most = 100;
  if (!told.get()) return told.why();
  return *told.get() <= most ? Reading<Percent>(Percent{static_cast<double>(*told.get())})
                             : Absent::failed;
}

template <class T>
void take_first(Reading<T>& reading, Reading<T> other) {
  if (!reading.get() && (other.get() || reading.why() == Absent::not_sampled)) {
    reading = std::move(other);
  }
}
template <class T>
void take_first(Reading<T>& reading, const std::optional<T>& other) {
  if (!reading.get() && other) reading = *other;
}

void read_heat(const Card::Sensors& sensors, Device& device) {
  device.temperature = heat_of(sensors.edge, "input");
  // The hottest spot, by which the card slows itself down.
  take_first(device.temperature, heat_of(sensors.junction, "input"));
  device.temperature_memory = heat_of(sensors.memory, "input");
  device.temperature_slowdown = heat_of(sensors.junction, "crit");
  const Reading<std::uint64_t> fan = sysfs::number_of(sensors.folder + "/pwm1");
  constexpr std::uint64_t full_speed = 255;
  constexpr double percent = 100.0;
  if (!fan.get()) {
    device.fan_speed = fan.why();
  } else if (*fan.get() > full_speed) {
    device.fan_speed = Absent::failed;
  } else {
    device.fan_speed = Percent{static_cast<double>(*fan.get()) * percent / full_speed};
  }
}

void read_power(const std::string& sensors, const Wanted& wanted, Device& device) {
  const std::string power = sensors + "/power1_";
  // Which of the two a card has depends on its generation.
  device.power_draw = power_of(power + "average");
  take_first(device.power_draw, power_of(power + "input"));
  if (wanted.has<&Device::power_limit>()) device.power_limit = power_of(power + "cap");
  if (wanted.has<&Device::power_limit_default>()) {
    device.power_limit_default = power_of(power + "cap_default");
  }
  const auto limit = [&](Detail detail, std::string_view file) {
    if (wanted.has(detail)) device.details.set(detail, power_of(power + std::string(file)));
  };
  limit(Detail::power_limit_min, "cap_min");
  limit(Detail::power_limit_max, "cap_max");
}

void read_clocks(const Card& card, const std::string& sensors, const Wanted& wanted,
                 Device& device) {
  device.clock_graphics = clock_of(sensors + "/freq1_input");
  device.clock_memory = clock_of(sensors + "/freq2_input");
  const auto highest = [&](std::string_view file) -> Reading<Megahertz> {
    const auto text = read_proc_file(card.folder + "/" + std::string(file), longest_file);
    if (!text) return sysfs::why_absent(text.error());
    const auto level = highest_level(*text);
    return level ? Reading<Megahertz>(*level) : Absent::unsupported;
  };
  if (wanted.has<&Device::clock_graphics_max>()) device.clock_graphics_max = highest("pp_dpm_sclk");
  if (wanted.has<&Device::clock_memory_max>()) device.clock_memory_max = highest("pp_dpm_mclk");
}

/// All blocks of the chip together. Each read asks the chip.
void read_errors(const Card& card, const Wanted& wanted, Device& device) {
  const bool pages =
      wanted.has(Detail::retired_pages_double_bit) || wanted.has(Detail::retired_pages_pending);
  if (!pages && !wanted.has<&Device::ecc_corrected, &Device::ecc_uncorrected>()) return;
  const std::string folder = card.folder + "/ras";
  const auto entries = list_directory(folder);
  if (!entries) return;
  constexpr std::string_view counts = "_err_count";
  bool any = false;
  std::optional<Absent> unread;
  ErrorCounts sum;
  for (const std::string& entry : *entries) {
    if (!entry.ends_with(counts)) continue;
    const auto text = read_proc_file(folder + "/" + entry, longest_file);
    const auto told = text ? parse_error_counts(*text) : std::nullopt;
    if (!told) {
      unread = text ? Absent::failed : sysfs::why_absent(text.error());
      continue;
    }
    any = true;
    sum.corrected += told->corrected;
    sum.uncorrected += told->uncorrected;
  }
  // A sum that lacks a part would be a guess.
  if (unread) {
    device.ecc_corrected = device.ecc_uncorrected = *unread;
  } else if (any) {
    device.ecc_corrected = sum.corrected;
    device.ecc_uncorrected = sum.uncorrected;
  }
  if (!pages) return;
  const auto text = read_proc_file(folder + "/gpu_vram_bad_pages", 1 << 16);
  const BadPages bad = text ? parse_bad_pages(*text) : BadPages{};
  const Absent why = text ? Absent::failed : sysfs::why_absent(text.error());
  device.details.set(Detail::retired_pages_double_bit,
                     text ? Reading<std::uint64_t>(bad.retired) : why);
  device.details.set(Detail::retired_pages_pending,
                     text ? Reading<bool>(bad.pending > 0) : Reading<bool>(why));
}

}  // namespace

void read_memory(const Card& card, Device& device) {
  device.memory_total = bytes_of(card.folder + "/mem_info_vram_total");
  device.memory_used = bytes_of(card.folder + "/mem_info_vram_used");
  const auto& total = device.memory_total.get();
  const auto& used = device.memory_used.get();
  // An APU of the MI300A's kind has no memory of its own: what it uses is its node's.
  if (total && *total == Bytes{0}) device.memory_total = device.memory_used = Absent::unsupported;
  if (total && used && *used > *total) device.memory_used = Absent::failed;
  if (device.memory_total.get() && device.memory_used.get()) {
    device.memory_free = minus(*total, *used).value_or(Bytes{0});
  } else {
    device.memory_free =
        device.memory_total.get() ? device.memory_used.why() : device.memory_total.why();
  }
}

std::optional<GpuMetrics> metrics_of(const Card& card) {
  constexpr std::size_t longest = 1 << 16;
  const auto bytes = read_proc_file(card.folder + "/gpu_metrics", longest);
  return bytes ? parse_gpu_metrics(*bytes) : std::nullopt;
}

void read_awake(Card& card, const std::optional<GpuMetrics>& metrics, const Wanted& wanted,
                Device& device) {
  device.utilization_gpu = busy_of(card.folder + "/gpu_busy_percent");
  if (wanted.has<&Device::utilization_memory>()) {
    device.utilization_memory = busy_of(card.folder + "/mem_busy_percent");
  }
  if (wanted.has<&Device::pcie_replays>()) {
    device.pcie_replays = sysfs::number_of(card.folder + "/pcie_replay_count");
  }
  const bool heat = wanted.has<&Device::temperature, &Device::temperature_memory,
                               &Device::temperature_slowdown, &Device::fan_speed>();
  const bool power =
      wanted.has<&Device::power_draw, &Device::power_limit, &Device::power_limit_default>() ||
      wanted.has(Detail::power_limit_max);
  const bool clocks = wanted.has<&Device::clock_graphics, &Device::clock_memory,
                                 &Device::clock_graphics_max, &Device::clock_memory_max>();
  if (heat || power || clocks) {
    const Card::Sensors& sensors = sensors_of(card);
    if (!sensors.folder.empty()) {
      if (heat) read_heat(sensors, device);
      if (power) read_power(sensors.folder, wanted, device);
      if (clocks) read_clocks(card, sensors.folder, wanted, device);
    }
  }
  read_errors(card, wanted, device);
  if (!metrics) return;
  take_first(device.utilization_gpu, metrics->busy);
  take_first(device.utilization_memory, metrics->memory_busy);
  take_first(device.power_draw, metrics->power);
  take_first(device.temperature, metrics->hotspot);
  take_first(device.temperature_memory, metrics->memory_temperature);
  take_first(device.clock_graphics, metrics->clock);
  take_first(device.clock_memory, metrics->memory_clock);
  take_first(device.energy, metrics->energy);
  take_first(device.pcie_replays, metrics->pcie_replays);
  take_first(device.throttle_reasons, metrics->throttle);
}

}  // namespace berth::amdgpu
