// Rows of nvmlDeviceGetFieldValues: all of them asked in one call.

#include <array>
#include <vector>

#include "probe/nvml/device_details.h"

namespace berth::nvml {

namespace {

struct FieldRow {
  Detail detail;
  std::uint32_t field;  // NVML_FI_…
  std::uint32_t scope;
  As as;
};

// The power of a scope: average, instant, and the limits.
constexpr std::uint32_t power_average = 185;
constexpr std::uint32_t power_instant = 186;
constexpr std::uint32_t power_min = 187;
constexpr std::uint32_t power_max = 188;
constexpr std::uint32_t power_default = 189;
constexpr std::uint32_t power_current = 190;
constexpr std::uint32_t power_requested = 192;

constexpr auto field_rows = std::to_array<FieldRow>({
    {Detail::retired_pages_single_bit, 29, 0, As::number},
    {Detail::retired_pages_double_bit, 30, 0, As::number},
    {Detail::throttled_power_cap, 74, 0, As::of_nanoseconds},
    {Detail::throttled_sync_boost, 76, 0, As::of_nanoseconds},
    {Detail::pcie_replay_rollovers, 95, 0, As::number},
    {Detail::power_draw_average, power_average, scope_gpu, As::milliwatts},
    {Detail::power_draw_instant, power_instant, scope_gpu, As::milliwatts},
    {Detail::module_power_draw_average, power_average, scope_module, As::milliwatts},
    {Detail::module_power_draw_instant, power_instant, scope_module, As::milliwatts},
    {Detail::module_power_limit_min, power_min, scope_module, As::milliwatts},
    {Detail::module_power_limit_max, power_max, scope_module, As::milliwatts},
    {Detail::module_power_limit_default, power_default, scope_module, As::milliwatts},
    {Detail::module_power_limit, power_current, scope_module, As::milliwatts},
    {Detail::module_power_limit_requested, power_requested, scope_module, As::milliwatts},
    {Detail::power_memory_average, power_average, scope_memory, As::milliwatts},
    {Detail::power_memory_instant, power_instant, scope_memory, As::milliwatts},
    {Detail::base_power_min, power_min, scope_gpu_base, As::milliwatts},
    {Detail::base_power_max, power_max, scope_gpu_base, As::milliwatts},
    {Detail::base_power_default, power_default, scope_gpu_base, As::milliwatts},
    {Detail::base_power_current, power_current, scope_gpu_base, As::milliwatts},
    {Detail::base_power_requested, power_requested, scope_gpu_base, As::milliwatts},
    {Detail::temperature_shutdown_margin, 193, 0, As::celsius},
    {Detail::temperature_slowdown_margin, 194, 0, As::celsius},
    {Detail::temperature_memory_margin, 195, 0, As::celsius},
    {Detail::temperature_max_operating_margin, 196, 0, As::celsius},
    {Detail::reset_required, 226, 0, As::yes_or_no},
    {Detail::drain_and_reset_recommended, 227, 0, As::yes_or_no},
    {Detail::pcie_atomics_outbound, 228, 0, As::pcie_atomics},
    {Detail::pcie_atomics_inbound, 229, 0, As::pcie_atomics},
    {Detail::recovery_action, 230, 0, As::recovery_action},
    {Detail::smoothing_enabled, 251, 0, As::yes_or_no},
    {Detail::smoothing_privilege, 252, 0, As::number},
    {Detail::smoothing_immediate_ramp_down, 253, 0, As::yes_or_no},
    {Detail::smoothing_ceiling, 254, 0, As::of_watts},
    {Detail::smoothing_floor, 255, 0, As::of_watts},
    {Detail::smoothing_floor_max, 256, 0, As::percent},
    {Detail::smoothing_floor_min, 257, 0, As::percent},
    {Detail::smoothing_lifetime_remaining, 258, 0, As::percent},
    {Detail::smoothing_profiles, 259, 0, As::number},
    {Detail::smoothing_profile_floor, 260, 0, As::percent},
    {Detail::smoothing_profile_ramp_up, 261, 0, As::number},
    {Detail::smoothing_profile_ramp_down, 262, 0, As::number},
    {Detail::smoothing_profile_hysteresis, 263, 0, As::milliseconds},
    {Detail::smoothing_profile, 264, 0, As::number},
    {Detail::smoothing_override_floor, 265, 0, As::percent},
    {Detail::smoothing_override_ramp_up, 266, 0, As::number},
    {Detail::smoothing_override_ramp_down, 267, 0, As::number},
    {Detail::smoothing_override_hysteresis, 268, 0, As::milliseconds},
    {Detail::throttled_software_thermal, 269, 0, As::of_nanoseconds},
    {Detail::throttled_hardware_thermal, 270, 0, As::of_nanoseconds},
    {Detail::throttled_power_brake, 271, 0, As::of_nanoseconds},
    {Detail::edpp_multiplier, 274, 0, As::percent_over_100},
    {Detail::smoothing_primary_floor, 275, 0, As::of_watts},
    {Detail::smoothing_secondary_floor, 276, 0, As::of_watts},
    {Detail::smoothing_activation_offset_min, 277, 0, As::of_watts},
    {Detail::smoothing_activation_point_min, 278, 0, As::of_watts},
    {Detail::smoothing_window, 279, 0, As::milliseconds},
    {Detail::smoothing_delayed_supported, 280, 0, As::yes_or_no},
    {Detail::smoothing_profile_secondary_floor, 281, 0, As::of_watts},
    {Detail::smoothing_profile_activation_windows, 282, 0, As::number},
    {Detail::smoothing_profile_target_windows, 283, 0, As::number},
    {Detail::smoothing_profile_activation_offset, 284, 0, As::of_watts},
    {Detail::smoothing_override_secondary_floor, 285, 0, As::of_watts},
    {Detail::smoothing_override_activation_windows, 286, 0, As::number},
    {Detail::smoothing_override_target_windows, 287, 0, As::number},
    {Detail::smoothing_override_activation_offset, 288, 0, As::of_watts},
    {Detail::smoothing_stored_energy_enabled, 300, 0, As::yes_or_no},
    {Detail::nvlink_count, 91, 0, As::number},
    {Detail::nvlink_flit_errors, 38, 0, As::number},
    {Detail::nvlink_data_errors, 45, 0, As::number},
    {Detail::nvlink_replays, 52, 0, As::number},
    {Detail::nvlink_recoveries, 59, 0, As::number},
    {Detail::nvlink_ecc_errors, 160, 0, As::number},
});

/// Counters that rates are made of, and what one of their units is in bytes.
struct CounterRow {
  Detail detail;  // the rate
  Reading<Counter> Counters::* counter;
  std::uint32_t field;
  std::uint32_t scope;
  std::uint64_t unit;
};
constexpr auto counters = std::to_array<CounterRow>({
    {Detail::pcie_sent_rate, &Counters::pcie_sent, field_pcie_sent_bytes, 0, 1},
    {Detail::pcie_received_rate, &Counters::pcie_received, field_pcie_received_bytes, 0, 1},
    // All links together, payload only, in KiB.
    {Detail::nvlink_sent_rate, &Counters::nvlink_sent, 138, scope_all_links, 1024},
    {Detail::nvlink_received_rate, &Counters::nvlink_received, 139, scope_all_links, 1024},
});

Reading<Counter> counter_of(const CounterRow& row, const FieldValue& field) {
  if (field.answer != success) return why_absent_newcomer(field.answer);
  const auto whole = whole_of(field);
  if (!whole || *whole < 0) return Absent::failed;
  if (is_unavailable(static_cast<std::uint64_t>(*whole))) return Absent::unsupported;
  return Counter{static_cast<std::uint64_t>(*whole) * row.unit, field.timestamp_us};
}

/// How many of the links are up: unknown where one of them does not tell.
Reading<std::uint64_t> active_links(DeviceAsker& asker, const Details& details) {
  constexpr std::uint32_t field_link_active = 165;  // NVML_FI_DEV_NVLINK_GET_STATE: 0 or 1
  constexpr std::uint64_t most_links = 64;          // NVML_NVLINK_MAX_LINKS is 36
  const auto count = details.get<std::uint64_t>(Detail::nvlink_count);
  if (!count.get()) return count.why();
  if (*count.get() > most_links) return Absent::failed;
  if (*count.get() == 0) return std::uint64_t{0};
  std::vector<FieldValue> fields;
  for (std::uint32_t link = 0; link < *count.get(); ++link) {
    fields.push_back({.field = field_link_active, .scope = link, .answer = unknown});
  }
  const Return code = asker.call(asker.api().nvmlDeviceGetFieldValues, 0,
                                 static_cast<int>(fields.size()), fields.data());
  if (code != success) return why_absent(code);
  std::uint64_t active = 0;
  for (const FieldValue& field : fields) {
    if (field.answer == gpu_is_lost) asker.note_lost();
    if (field.answer != success) return why_absent_newcomer(field.answer);
    const auto is_up = whole_of(field);
    if (!is_up || *is_up < 0 || *is_up > 1) return Absent::failed;
    active += static_cast<std::uint64_t>(*is_up);
  }
  return active;
}

}  // namespace

void read_field_details(DeviceAsker& asker, Details& details, Counters& now) {
  std::vector<FieldValue> fields;
  fields.reserve(field_rows.size() + counters.size());
  // An entry that the driver leaves as it is has not been answered.
  const auto push = [&](const auto& row) {
    if (asker.wants(row.detail)) {
      fields.push_back({.field = row.field, .scope = row.scope, .answer = unknown});
    }
  };
  for (const FieldRow& row : field_rows) push(row);
  for (const CounterRow& row : counters) push(row);
  if (fields.empty()) return;
  const Return code = asker.call(asker.api().nvmlDeviceGetFieldValues, 0,
                                 static_cast<int>(fields.size()), fields.data());
  for (FieldValue& field : fields) {
    if (code != success) field.answer = code;
    if (field.answer == gpu_is_lost) asker.note_lost();
  }
  auto answer = fields.begin();
  for (const FieldRow& row : field_rows) {
    if (!asker.wants(row.detail)) continue;
    const FieldValue& field = *answer++;
    details.put(row.detail, field.answer == success ? cell_of_field(row.as, field)
                                                    : Cell(why_absent_newcomer(field.answer)));
  }
  for (const CounterRow& row : counters) {
    if (asker.wants(row.detail)) now.*row.counter = counter_of(row, *answer++);
  }
  if (asker.wants(Detail::nvlink_active)) {
    details.set(Detail::nvlink_active, active_links(asker, details));
  }
}

}  // namespace berth::nvml
