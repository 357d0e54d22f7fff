#include "record/history/metric.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace berth::history {

namespace {

constexpr std::int64_t percent_parts = 1000;

template <class T>
Entry entry_of(const Reading<T>& reading) {
  if (!reading.get()) return Entry(reading.why());
  return Entry(static_cast<std::int64_t>(reading.get()->count()));
}

Entry entry_of(const Reading<Percent>& reading) {
  if (!reading.get()) return Entry(reading.why());
  const double percent = reading.get()->count();
  // What is beyond this is no share of anything: a broken source.
  if (!(percent >= 0 && percent <= 1e6)) return Entry(Absent::failed);
  return Entry(static_cast<std::int64_t>(std::llround(percent * percent_parts)));
}

template <auto member>
Entry read_device(const Device& device) {
  return entry_of(device.*member);
}
template <auto member>
Entry read_use(const GpuProcess& process) {
  return entry_of(process.*member);
}

constexpr auto all_metrics = std::to_array<MetricFacts>({
    {Metric::utilization_gpu, "utilization_gpu_percent", "percent", false, percent_parts,
     read_device<&Device::utilization_gpu>, nullptr},
    {Metric::memory_used, "memory_used_bytes", "bytes", false, 1, read_device<&Device::memory_used>,
     nullptr},
    {Metric::power_draw, "power_draw_milliwatts", "milliwatts", false, 1,
     read_device<&Device::power_draw>, nullptr},
    {Metric::temperature, "temperature_celsius", "celsius", false, 1,
     read_device<&Device::temperature>, nullptr},
    {Metric::clock_sm, "clock_sm_megahertz", "megahertz", false, 1, read_device<&Device::clock_sm>,
     nullptr},
    {Metric::energy, "energy_millijoules", "milliwatts", true, 1, read_device<&Device::energy>,
     nullptr},
    {Metric::pcie_sent, "pcie_sent_bytes", "bytes/s", true, 1, read_device<&Device::pcie_sent>,
     nullptr},
    {Metric::pcie_received, "pcie_received_bytes", "bytes/s", true, 1,
     read_device<&Device::pcie_received>, nullptr},
    {Metric::process_memory, "process_memory_used_bytes", "bytes", false, 1, nullptr,
     read_use<&GpuProcess::memory>},
    {Metric::process_sm, "process_utilization_sm_percent", "percent", false, percent_parts, nullptr,
     read_use<&GpuProcess::utilization_sm>},
});

}  // namespace

std::span<const MetricFacts> metrics() { return all_metrics; }

const MetricFacts& facts_of(Metric metric) {
  for (const MetricFacts& facts : all_metrics) {
    if (facts.metric == metric) return facts;
  }
  BERTH_CHECK(false, "every metric has a row");
  return all_metrics.front();
}

const MetricFacts* find_metric(std::int64_t number) {
  for (const MetricFacts& facts : all_metrics) {
    if (static_cast<std::int64_t>(facts.metric) == number) return &facts;
  }
  return nullptr;
}

const MetricFacts* find_metric(std::string_view key) {
  for (const MetricFacts& facts : all_metrics) {
    if (facts.key == key) return &facts;
  }
  return nullptr;
}

}  // namespace berth::history
