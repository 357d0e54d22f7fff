#include "probe/nvml/device_details.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace berth::nvml {

namespace {

// The driver's clock stands beside most counters; where it does not, ours does.
void date(Counters& counters, WallTime taken) {
  for (Reading<Counter>* const reading : {&counters.pcie_sent, &counters.pcie_received,
                                          &counters.nvlink_sent, &counters.nvlink_received}) {
    if (!reading->get() || reading->get()->read_us != 0) continue;
    *reading = Counter{reading->get()->bytes, taken.unix_ms * 1000};
  }
}

/// Every detail absent for one reason. Made once: what is put in place of an entry is cheap, a new
/// entry in the middle of hundreds is not.
Details all_absent(Absent why) {
  Details details;
  for (std::size_t i = 0; i < detail_count; ++i) details.put(static_cast<Detail>(i), why);
  return details;
}

/// What has been added to a count since the look before.
struct GrowthRow {
  Detail counted;
  Detail since_then;
};
constexpr auto growth_rows = std::to_array<GrowthRow>({
    {Detail::throttled_power_cap, Detail::window_throttled_power_cap},
    {Detail::throttled_sync_boost, Detail::window_throttled_sync_boost},
    {Detail::throttled_software_thermal, Detail::window_throttled_software_thermal},
    {Detail::throttled_hardware_thermal, Detail::window_throttled_hardware_thermal},
    {Detail::throttled_power_brake, Detail::window_throttled_power_brake},
    {Detail::nvlink_flit_errors, Detail::window_nvlink_flit_errors},
    {Detail::nvlink_data_errors, Detail::window_nvlink_data_errors},
    {Detail::nvlink_replays, Detail::window_nvlink_replays},
    {Detail::nvlink_recoveries, Detail::window_nvlink_recoveries},
    {Detail::nvlink_ecc_errors, Detail::window_nvlink_ecc_errors},
});

/// A count that is smaller than before has begun anew: nobody knows what was missed.
Cell growth(const Cell& before, const Cell& now) {
  if (!now.get()) return now;
  const auto* count = std::get_if<std::uint64_t>(&*now.get());
  if (count == nullptr) return Absent::failed;
  const auto* earlier = before.get() ? std::get_if<std::uint64_t>(&*before.get()) : nullptr;
  if (earlier == nullptr || *count < *earlier) return Absent::not_sampled;
  return Scalar(*count - *earlier);
}

/// What stands there of what is wanted.
Details only_wanted(const Details& details, const Wanted& wanted) {
  Details kept;
  for (const Details::Entry& entry : details.entries()) {
    if (wanted.has(entry.detail)) kept.put(entry.detail, entry.cell);
  }
  return kept;
}

void read_growth(WallTime taken, DeviceMemory& memory, Details& details) {
  std::vector<Cell>& before = memory.counted_before;
  const std::optional<WallTime> last = std::exchange(memory.counted_at, taken);
  const std::int64_t passed_ms = last ? taken.unix_ms - last->unix_ms : 0;
  details.put(Detail::window_span,
              passed_ms > 0 ? Cell(Scalar(passed_ms)) : Cell(Absent::not_sampled));
  before.resize(growth_rows.size(), Cell(Absent::not_sampled));
  for (std::size_t i = 0; i < growth_rows.size(); ++i) {
    const Cell now = details.cell(growth_rows[i].counted);
    details.put(growth_rows[i].since_then, growth(before[i], now));
    before[i] = now;
  }
}

/// "0-23,48-71" of a set bit for each processor.
std::string ranges_of(std::span<const unsigned long> words) {
  constexpr std::size_t bits = 64;
  const auto has = [&](std::size_t processor) {
    return processor < words.size() * bits &&
           (words[processor / bits] >> processor % bits & 1) != 0;
  };
  std::string text;
  for (std::size_t first = 0; first < words.size() * bits; ++first) {
    if (!has(first)) continue;
    std::size_t last = first;
    while (has(last + 1)) ++last;
    text += text.empty() ? "" : ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return text;
}

/// The kernel tells it too, where its device tree can be read.
Cell cpu_affinity(DeviceAsker& asker) {
  std::array<unsigned long, 64> words{};  // 4096 processors
  const Return code = asker.call(asker.api().nvmlDeviceGetCpuAffinity, 0,
                                 static_cast<unsigned>(words.size()), words.data());
  if (code != success) return why_absent(code);
  std::string ranges = ranges_of(words);
  if (ranges.empty()) return Absent::unsupported;
  return Scalar(std::move(ranges));
}

}  // namespace

void read_details(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device) {
  // What stays so is what NVML has no function for, or none for a whole GPU.
  static const Details untold = [] {
    Details absent = all_absent(Absent::unsupported);
    // The kernel tells it to PciProbe.
    absent.put(Detail::pci_path, Absent::not_sampled);
    // Only dumps of virtual machines tell these.
    absent.put(Detail::vgpu_licensed_product, Absent::not_sampled);
    absent.put(Detail::vgpu_license_status, Absent::not_sampled);
    return absent;
  }();
  // What each look asks for, by which a device is judged failed.
  const Details verdicts = std::exchange(device.details, only_wanted(untold, asker.wanted()));
  Details& details = device.details;
  Counters now;
  read_number_details(asker, details);
  read_field_details(asker, details, now);
  date(now, taken);
  read_rates(memory.counters, now, details);
  memory.counters = now;
  read_growth(taken, memory, details);
  read_struct_details(asker, details);
  if (asker.wants(Detail::cpu_affinity)) details.put(Detail::cpu_affinity, cpu_affinity(asker));
  read_ecc_details(asker, details);
  read_sample_details(asker, memory.samples, details);
  read_activity(asker, memory.activity, details);
  // Where the call for all of a kind does not answer, what was told alone stands.
  for (const Details::Entry& told : verdicts.entries()) {
    if (told.cell.get() && !details.cell(told.detail).get()) details.put(told.detail, told.cell);
  }
}

void add_sources_of_details(Wanted& wanted) {
  for (const GrowthRow& row : growth_rows) {
    if (wanted.has(row.since_then)) wanted.add(row.counted);
  }
  if (wanted.has(Detail::nvlink_active)) wanted.add(Detail::nvlink_count);
}

Details failed_details() { return all_absent(Absent::failed); }

Lists failed_lists() { return {Absent::failed, Absent::failed, Absent::failed, Absent::failed}; }

}  // namespace berth::nvml
