// Rows: one getter of one or two numbers each.

#include <array>

#include "probe/nvml/device_details.h"

namespace berth::nvml {

namespace {

using Number = Function<Handle, unsigned*>;
using Mask = Function<Handle, unsigned long long*>;
using Pair = Function<Handle, unsigned*, unsigned*>;
using ByArgument = Function<Handle, unsigned, unsigned*>;
using ErrorCounter = Function<Handle, unsigned, unsigned, unsigned, unsigned long long*>;

struct NumberRow {
  Detail detail;
  Number Api::* function;
  As as;
};
constexpr auto numbers = std::to_array<NumberRow>({
    {Detail::board_id, &Api::nvmlDeviceGetBoardId, As::number},
    {Detail::multi_gpu_board, &Api::nvmlDeviceGetMultiGpuBoard, As::any_yes},
    {Detail::display_mode, &Api::nvmlDeviceGetDisplayMode, As::yes_or_no},
    {Detail::accounting_mode, &Api::nvmlDeviceGetAccountingMode, As::yes_or_no},
    {Detail::accounting_buffer_size, &Api::nvmlDeviceGetAccountingBufferSize, As::number},
    {Detail::virtualization_mode, &Api::nvmlDeviceGetVirtualizationMode, As::virtualization_mode},
    {Detail::host_vgpu_mode, &Api::nvmlDeviceGetHostVgpuMode, As::host_vgpu_mode},
    {Detail::power_state, &Api::nvmlDeviceGetPowerState, As::performance_state},
    {Detail::pcie_generation_device_max, &Api::nvmlDeviceGetGpuMaxPcieLinkGeneration,
     As::pcie_generation},
    {Detail::retired_pages_pending, &Api::nvmlDeviceGetRetiredPagesPendingStatus, As::yes_or_no},
    {Detail::power_management, &Api::nvmlDeviceGetPowerManagementMode, As::supported_word},
    {Detail::power_limit_requested, &Api::nvmlDeviceGetPowerManagementLimit, As::milliwatts},
});

/// Both numbers that a function tells; nothing: one that something else reads already.
struct PairRow {
  std::optional<Detail> first;
  std::optional<Detail> second;
  Pair Api::* function;
  As as;
};
constexpr auto pairs = std::to_array<PairRow>({
    {std::nullopt, Detail::mig_mode_pending, &Api::nvmlDeviceGetMigMode, As::yes_or_no},
    {std::nullopt, Detail::ecc_mode_pending, &Api::nvmlDeviceGetEccMode, As::yes_or_no},
    {Detail::operation_mode, Detail::operation_mode_pending, &Api::nvmlDeviceGetGpuOperationMode,
     As::operation_mode},
    {Detail::gsp_mode, Detail::gsp_mode_default, &Api::nvmlDeviceGetGspFirmwareMode, As::yes_or_no},
    {Detail::auto_boost, Detail::auto_boost_default, &Api::nvmlDeviceGetAutoBoostedClocksEnabled,
     As::yes_or_no},
    {Detail::power_limit_min, Detail::power_limit_max,
     &Api::nvmlDeviceGetPowerManagementLimitConstraints, As::milliwatts},
    {Detail::utilization_jpeg, std::nullopt, &Api::nvmlDeviceGetJpgUtilization, As::percent},
    {Detail::utilization_optical_flow, std::nullopt, &Api::nvmlDeviceGetOfaUtilization,
     As::percent},
});

struct ArgumentRow {
  Detail detail;
  ByArgument Api::* function;
  unsigned argument;
  As as;
};
// nvmlDeviceVgpuCapability_t.
constexpr unsigned vgpu_fractional = 0;
constexpr unsigned vgpu_timeslice_profiles = 1;
constexpr unsigned vgpu_timeslice_sizes = 2;
constexpr unsigned vgpu_homogeneous_placements = 9;
constexpr unsigned vgpu_mig_timeslicing = 10;
constexpr unsigned vgpu_mig_timeslicing_mode = 11;
constexpr auto by_argument = std::to_array<ArgumentRow>({
    {Detail::clock_video, &Api::nvmlDeviceGetClockInfo, clock_video, As::megahertz},
    {Detail::clock_video_max, &Api::nvmlDeviceGetMaxClockInfo, clock_video, As::megahertz_limit},
    {Detail::clock_application_graphics, &Api::nvmlDeviceGetApplicationsClock, clock_graphics,
     As::megahertz},
    {Detail::clock_application_memory, &Api::nvmlDeviceGetApplicationsClock, clock_memory,
     As::megahertz},
    {Detail::clock_default_graphics, &Api::nvmlDeviceGetDefaultApplicationsClock, clock_graphics,
     As::megahertz},
    {Detail::clock_default_memory, &Api::nvmlDeviceGetDefaultApplicationsClock, clock_memory,
     As::megahertz},
    {Detail::clock_customer_boost, &Api::nvmlDeviceGetMaxCustomerBoostClock, clock_graphics,
     As::megahertz},
    {Detail::temperature_shutdown, &Api::nvmlDeviceGetTemperatureThreshold, threshold_shutdown,
     As::celsius_limit},
    {Detail::temperature_max_operating, &Api::nvmlDeviceGetTemperatureThreshold, threshold_gpu_max,
     As::celsius_limit},
    {Detail::temperature_memory_max_operating, &Api::nvmlDeviceGetTemperatureThreshold,
     threshold_memory_max, As::celsius_limit},
    {Detail::temperature_target, &Api::nvmlDeviceGetTemperatureThreshold,
     threshold_acoustic_current, As::celsius_limit},
    {Detail::temperature_target_min, &Api::nvmlDeviceGetTemperatureThreshold,
     threshold_acoustic_min, As::celsius_limit},
    {Detail::temperature_target_max, &Api::nvmlDeviceGetTemperatureThreshold,
     threshold_acoustic_max, As::celsius_limit},
    {Detail::vgpu_fractional, &Api::nvmlDeviceGetVgpuCapabilities, vgpu_fractional,
     As::supported_word},
    {Detail::vgpu_timeslice_profiles, &Api::nvmlDeviceGetVgpuCapabilities, vgpu_timeslice_profiles,
     As::supported_word},
    {Detail::vgpu_timeslice_sizes, &Api::nvmlDeviceGetVgpuCapabilities, vgpu_timeslice_sizes,
     As::supported_word},
    {Detail::vgpu_homogeneous_placements, &Api::nvmlDeviceGetVgpuCapabilities,
     vgpu_homogeneous_placements, As::supported_word},
    {Detail::vgpu_mig_timeslicing, &Api::nvmlDeviceGetVgpuCapabilities, vgpu_mig_timeslicing,
     As::supported_word},
    {Detail::vgpu_mig_timeslicing_mode, &Api::nvmlDeviceGetVgpuCapabilities,
     vgpu_mig_timeslicing_mode, As::mode_word},
});

struct ErrorRow {
  Detail detail;
  unsigned type;
  unsigned age;
  unsigned place;
};
#define BERTH_ERROR_ROWS(KIND, AGE)                                                             \
  {Detail::ecc_##KIND##_##AGE##_dram, error_##KIND, ecc_##AGE, location_dram},                  \
      {Detail::ecc_##KIND##_##AGE##_register_file, error_##KIND, ecc_##AGE,                     \
       location_register_file},                                                                 \
      {Detail::ecc_##KIND##_##AGE##_l1_cache, error_##KIND, ecc_##AGE, location_l1_cache},      \
      {Detail::ecc_##KIND##_##AGE##_l2_cache, error_##KIND, ecc_##AGE, location_l2_cache},      \
      {Detail::ecc_##KIND##_##AGE##_texture, error_##KIND, ecc_##AGE, location_texture_memory}, \
      {Detail::ecc_##KIND##_##AGE##_cbu, error_##KIND, ecc_##AGE, location_cbu}, {              \
    Detail::ecc_##KIND##_##AGE##_sram, error_##KIND, ecc_##AGE, location_sram                   \
  }
constexpr auto errors = std::to_array<ErrorRow>(
    {BERTH_ERROR_ROWS(corrected, volatile), BERTH_ERROR_ROWS(corrected, aggregate),
     BERTH_ERROR_ROWS(uncorrected, volatile), BERTH_ERROR_ROWS(uncorrected, aggregate)});
#undef BERTH_ERROR_ROWS

Cell mask_of(DeviceAsker& asker, const Mask& newer, const Mask& older) {
  auto mask = asker.ask<unsigned long long>(newer, 0);
  if (!mask && is_refused_for_good(mask.error())) mask = asker.ask<unsigned long long>(older, 0);
  if (!mask) return why_absent(mask.error());
  return cell_of_count(*mask);
}

void put_pair(DeviceAsker& asker, const PairRow& row, Details& details) {
  const auto wanted = [&](std::optional<Detail> detail) { return detail && asker.wants(*detail); };
  if (!wanted(row.first) && !wanted(row.second)) return;
  unsigned first = 0;
  unsigned second = 0;
  const Return code = asker.call(asker.api().*row.function, 0, &first, &second);
  const auto put = [&](std::optional<Detail> detail, unsigned value) {
    if (!detail) return;
    details.put(*detail,
                code == success ? cell_as(row.as, std::int64_t{value}) : Cell(why_absent(code)));
  };
  put(row.first, first);
  put(row.second, second);
}

void read_driver_model(DeviceAsker& asker, Details& details) {
  if (!asker.wants(Detail::driver_model, Detail::driver_model_pending)) return;
  PairRow row{Detail::driver_model, Detail::driver_model_pending, &Api::nvmlDeviceGetDriverModel_v2,
              As::driver_model};
  put_pair(asker, row, details);
  const Cell& answered = details.cell(Detail::driver_model);
  if (answered.get() || answered.why() != Absent::unsupported) return;
  row.function = &Api::nvmlDeviceGetDriverModel;
  put_pair(asker, row, details);
}

}  // namespace

void read_number_details(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  for (const NumberRow& row : numbers) {
    if (!asker.wants(row.detail)) continue;
    details.put(row.detail, detail_of(row.as, asker.ask<unsigned>(api.*row.function, 0)));
  }
  for (const PairRow& row : pairs) put_pair(asker, row, details);
  read_driver_model(asker, details);
  for (const ArgumentRow& row : by_argument) {
    if (!asker.wants(row.detail)) continue;
    details.put(row.detail, detail_of(row.as, asker.ask_if_known<unsigned>(
                                                  api.*row.function, row.argument, row.argument)));
  }
  if (!asker.wants(Detail::throttle_supported)) return;
  details.put(Detail::throttle_supported,
              mask_of(asker, api.nvmlDeviceGetSupportedClocksEventReasons,
                      api.nvmlDeviceGetSupportedClocksThrottleReasons));
}

void read_ecc_details(DeviceAsker& asker, Details& details) {
  const auto put = [&](Detail detail, const std::expected<unsigned long long, Return>& count) {
    details.put(detail, count ? cell_of_count(*count) : Cell(why_absent(count.error())));
  };
  const ErrorCounter& by_place = asker.api().nvmlDeviceGetMemoryErrorCounter;
  for (const ErrorRow& row : errors) {
    if (!asker.wants(row.detail)) continue;
    const unsigned variant = (row.type * 2 + row.age) * 8 + row.place;
    put(row.detail,
        asker.ask_if_known<unsigned long long>(by_place, variant, row.type, row.age, row.place));
  }
  // Variants 0 and 1 are the volatile totals, which every look reads.
  const auto& total = asker.api().nvmlDeviceGetTotalEccErrors;
  if (asker.wants(Detail::ecc_corrected_aggregate_total)) {
    put(Detail::ecc_corrected_aggregate_total,
        asker.ask<unsigned long long>(total, 2 + error_corrected, error_corrected, ecc_aggregate));
  }
  if (!asker.wants(Detail::ecc_uncorrected_aggregate_total)) return;
  put(Detail::ecc_uncorrected_aggregate_total,
      asker.ask<unsigned long long>(total, 2 + error_uncorrected, error_uncorrected,
                                    ecc_aggregate));
}

}  // namespace berth::nvml
