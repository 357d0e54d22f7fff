#include "probe/amdgpu/gpu_metrics.h"

#include <algorithm>
#include <array>
#include <limits>

namespace berth::amdgpu {

namespace {

/// Where the members of a revision stand; 0: it has none.
struct Layout {
  unsigned format = 0, content = 0, size = 0;
  unsigned hotspot = 0, memory_temperature = 0;
  unsigned busy = 0, memory_busy = 0;
  unsigned power = 0;  // 16 bits
  unsigned wide_power = 0;
  unsigned energy = 0;
  unsigned throttle = 0;  // the one that means the same on each chip
  unsigned residencies = 0;
  unsigned pcie_width = 0, pcie_replays = 0;
  unsigned clock = 0, clocks = 0;
  unsigned memory_clock = 0;
  unsigned partition_count = 0, partitions = 0, partition_stride = 0;
};

constexpr unsigned chiplets = 8;
constexpr unsigned most_partitions = 8;

constexpr Layout discrete(unsigned content, unsigned size, unsigned throttle) {
  return {.format = 1,
          .content = content,
          .size = size,
          .hotspot = 6,
          .memory_temperature = 8,
          .busy = 16,
          .memory_busy = 18,
          .power = 22,
          .throttle = throttle,
          .clock = 54,
          .clocks = 1,
          .memory_clock = 58};
}

/// From 1.7 on up to the partitions.
constexpr Layout later(unsigned content, unsigned size, unsigned stride) {
  return {.format = 1,
          .content = content,
          .size = size,
          .hotspot = 4,
          .memory_temperature = 6,
          .busy = 12,
          .memory_busy = 14,
          .power = 10,
          .energy = 24,
          .residencies = 44,
          .pcie_width = 68,
          .pcie_replays = 112,
          .clock = 296,
          .clocks = chiplets,
          .memory_clock = 336,
          .partition_count = 338,
          .partitions = 344,
          .partition_stride = stride};
}

constexpr Layout apu(unsigned content, unsigned size, unsigned throttle) {
  return {.format = 2,
          .content = content,
          .size = size,
          .busy = 28,
          .power = 40,
          .throttle = throttle,
          .clock = 76,
          .clocks = 1,
          .memory_clock = 80};
}

constexpr std::array layouts = {
    discrete(1, 96, 0),
    discrete(2, 104, 0),
    discrete(3, 120, 112),
    Layout{.format = 1,
           .content = 4,
           .size = 288,
           .hotspot = 4,
           .memory_temperature = 6,
           .busy = 12,
           .memory_busy = 14,
           .power = 10,
           .energy = 24,
           .pcie_width = 48,
           .pcie_replays = 88,
           .clock = 240,
           .clocks = chiplets,
           .memory_clock = 280},
    Layout{.format = 1,
           .content = 5,
           .size = 328,
           .hotspot = 4,
           .memory_temperature = 6,
           .busy = 12,
           .memory_busy = 14,
           .power = 10,
           .energy = 56,
           .pcie_width = 80,
           .pcie_replays = 120,
           .clock = 280,
           .clocks = chiplets,
           .memory_clock = 320},
    Layout{.format = 1,
           .content = 6,
           .size = 1664,
           .hotspot = 4,
           .memory_temperature = 6,
           .busy = 12,
           .memory_busy = 14,
           .power = 10,
           .energy = 16,
           .residencies = 36,
           .pcie_width = 60,
           .pcie_replays = 104,
           .clock = 264,
           .clocks = chiplets,
           .memory_clock = 304,
           .partition_count = 306,
           .partitions = 312,
           .partition_stride = 168},
    later(7, 2208, 232),
    later(8, 3360, 376),
    later(8, 3872, 440),
    apu(1, 120, 0),
    apu(2, 128, 120),
    apu(3, 152, 120),
    apu(4, 168, 120),
    Layout{.format = 3, .content = 0, .size = 264, .busy = 42, .wide_power = 112},
};

/// A number of the driver's, least significant byte first; nothing: all ones, or not in the layout.
template <class Number>
std::optional<Number> number_at(std::string_view bytes, unsigned at) {
  if (at == 0 || at + sizeof(Number) > bytes.size()) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  const auto value = static_cast<Number>(number);
  return value == std::numeric_limits<Number>::max() ? std::nullopt : std::optional(value);
}

std::optional<Percent> percent_of(std::optional<std::uint64_t> told, double per_percent) {
  constexpr double most = 100.0;
  if (!told) return std::nullopt;
  const double percent = static_cast<double>(*told) / per_percent;
  return percent <= most ? std::optional(Percent{percent}) : std::nullopt;
}

template <class T>
std::optional<T> quantity_of(std::optional<std::uint64_t> told, std::uint64_t times = 1) {
  if (!told) return std::nullopt;
  return T(static_cast<typename T::rep>(*told * times));
}

/// A temperature of 0 is what a chip gives for a sensor that it lacks.
std::optional<Celsius> heat_of(std::optional<std::uint64_t> told) {
  constexpr std::uint64_t hottest = 200;
  return told && *told > 0 && *told <= hottest ? quantity_of<Celsius>(told) : std::nullopt;
}

/// SMU_THROTTLER_* of amdgpu_smu.h: power from bit 0, current from 16, heat from 32.
ClockReasons reasons_of(std::uint64_t bits) {
  constexpr std::uint64_t power_and_current = 0xffff'ffff;
  constexpr std::uint64_t heat = std::uint64_t{0xff'ffff} << 32U;
  std::uint64_t reasons = 0;
  if ((bits & power_and_current) != 0) {
    reasons |= static_cast<std::uint64_t>(ClockReason::power_cap);
  }
  if ((bits & heat) != 0) {
    reasons |= static_cast<std::uint64_t>(ClockReason::hardware_thermal) |
               static_cast<std::uint64_t>(ClockReason::hardware);
  }
  return ClockReasons{reasons};
}

/// In units of 2^-16 joules.
std::optional<Millijoules> energy_of(std::optional<std::uint64_t> told) {
  constexpr std::uint64_t per_joule = 1U << 16U;
  constexpr std::uint64_t milli = 1000;
  if (!told || *told == 0) return std::nullopt;
  return Millijoules{*told / per_joule * milli + *told % per_joule * milli / per_joule};
}

std::optional<Residencies> residencies_at(std::string_view bytes, unsigned at) {
  std::array<std::uint32_t, 5> read{};
  for (unsigned i = 0; i < read.size(); ++i) {
    const auto one = at == 0 ? std::nullopt : number_at<std::uint32_t>(bytes, at + 4 * i);
    if (!one) return std::nullopt;
    read[i] = *one;
  }
  return Residencies{read[0], read[1], read[2], read[3], read[4]};
}

/// The mean of those chiplets that the partition has.
std::optional<Percent> busy_of_partition(std::string_view bytes, unsigned at) {
  double sum = 0;
  unsigned count = 0;
  for (unsigned chiplet = 0; chiplet < chiplets; ++chiplet) {
    const auto one = percent_of(number_at<std::uint32_t>(bytes, at + 4 * chiplet), 1);
    if (!one) continue;
    sum += one->count();
    ++count;
  }
  return count > 0 ? std::optional(Percent{sum / count}) : std::nullopt;
}

std::optional<Megahertz> clock_of(std::string_view bytes, const Layout& layout) {
  std::optional<std::uint64_t> fastest;
  for (unsigned i = 0; i < layout.clocks; ++i) {
    const auto one = number_at<std::uint16_t>(bytes, layout.clock + 2 * i);
    if (one && (!fastest || *one > *fastest)) fastest = *one;
  }
  return quantity_of<Megahertz>(fastest);
}

}  // namespace

std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes) {
  constexpr std::size_t header = 4;
  if (bytes.size() < header) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const unsigned size = byte(0) | static_cast<unsigned>(byte(1)) << 8U;
  const auto layout = std::ranges::find_if(layouts, [&](const Layout& one) {
    return one.format == byte(2) && one.content == byte(3) && one.size == size;
  });
  if (layout == layouts.end() || bytes.size() < size) return std::nullopt;
  bytes = bytes.substr(0, size);
  const auto narrow = [&](unsigned at) { return number_at<std::uint16_t>(bytes, at); };
  const auto wide = [&](unsigned at) { return number_at<std::uint64_t>(bytes, at); };
  GpuMetrics metrics;
  metrics.is_apu = layout->format > 1;
  const double per_percent = layout->format == 2 ? 100 : 1;
  const std::uint64_t per_milliwatt = layout->format == 1 ? 1000 : 1;
  metrics.busy = percent_of(narrow(layout->busy), per_percent);
  metrics.memory_busy = percent_of(narrow(layout->memory_busy), 1);
  metrics.power = quantity_of<Milliwatts>(narrow(layout->power), per_milliwatt);
  if (layout->wide_power != 0) {
    metrics.power = quantity_of<Milliwatts>(number_at<std::uint32_t>(bytes, layout->wide_power));
  }
  metrics.hotspot = heat_of(narrow(layout->hotspot));
  metrics.memory_temperature = heat_of(narrow(layout->memory_temperature));
  metrics.energy = energy_of(wide(layout->energy));
  metrics.clock = clock_of(bytes, *layout);
  metrics.memory_clock = quantity_of<Megahertz>(narrow(layout->memory_clock));
  metrics.pcie_width = narrow(layout->pcie_width);
  metrics.pcie_replays = wide(layout->pcie_replays);
  if (const auto bits = wide(layout->throttle)) metrics.throttle = reasons_of(*bits);
  metrics.residencies = residencies_at(bytes, layout->residencies);
  const auto partitions = narrow(layout->partition_count);
  for (unsigned i = 0; i < std::min<unsigned>(partitions.value_or(0), most_partitions); ++i) {
    metrics.partitions_busy.push_back(
        busy_of_partition(bytes, layout->partitions + i * layout->partition_stride));
  }
  return metrics;
}

ClockReasons reasons_between(const Residencies& before, const Residencies& now) {
  std::uint64_t reasons = 0;
  const auto add = [&](bool happened, auto... which) {
    if (happened) ((reasons |= static_cast<std::uint64_t>(which)), ...);
  };
  add(now.power != before.power, ClockReason::power_cap);
  add(now.processor_hot != before.processor_hot, ClockReason::hardware, ClockReason::power_brake);
  add(now.heat != before.heat || now.heat_of_regulators != before.heat_of_regulators ||
          now.heat_of_memory != before.heat_of_memory,
      ClockReason::hardware, ClockReason::hardware_thermal);
  return ClockReasons{reasons};
}

}  // namespace berth::amdgpu
