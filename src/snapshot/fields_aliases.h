#pragma once
// What people also type for a field's key: nvidia-smi's own aliases. Internal to fields.cc.

#include <array>
#include <string_view>
#include <utility>

namespace berth::field_rows {

inline constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"gpu_name", "name"},
    {"gpu_uuid", "uuid"},
    {"gpu_serial", "serial"},
    {"gpu_bus_id", "pci_address"},
    {"kmd_version", "driver_version"},
    {"clocks.gr", "clock_graphics_megahertz"},
    {"clocks.current.gr", "clock_graphics_megahertz"},
    {"clocks.sm", "clock_sm_megahertz"},
    {"clocks.mem", "clock_memory_megahertz"},
    {"clocks.video", "clock_video_megahertz"},
    {"clocks.max.gr", "clock_graphics_max_megahertz"},
    {"clocks.max.mem", "clock_memory_max_megahertz"},
    {"clocks.applications.gr", "clock_application_graphics_megahertz"},
    {"clocks.applications.mem", "clock_application_memory_megahertz"},
    {"clocks.default_applications.gr", "clock_default_graphics_megahertz"},
    {"clocks.default_applications.mem", "clock_default_memory_megahertz"},
    {"gpu.power.draw.average", "power_draw_average_milliwatts"},
    {"gpu.power.draw.instant", "power_draw_instant_milliwatts"},
    {"gpu.power.requested_limit", "power_limit_requested_milliwatts"},
    {"gpu.power.current_limit", "power_limit_milliwatts"},
    {"gpu.power.default_limit", "power_limit_default_milliwatts"},
    {"gpu.power.min_limit", "power_limit_min_milliwatts"},
    {"gpu.power.max_limit", "power_limit_max_milliwatts"},
    {"module.power.requested_limit", "module_power_limit_requested_milliwatts"},
    {"module.power.current_limit", "module_power_limit_milliwatts"},
    {"pcie.link.gen.current", "pcie_generation"},
    {"inforom.image", "inforom_image"},
    {"inforom.power", "inforom_power"},
    {"gpu_operation_mode.current", "operation_mode"},
    {"gpu_operation_mode.pending", "operation_mode_pending"},
    {"retired_pages.sbe", "retired_pages_single_bit"},
    {"retired_pages.dbe", "retired_pages_double_bit"},
    {"remapped_rows.sbe", "remapped_rows_correctable"},
    {"remapped_rows.dbe", "remapped_rows_uncorrectable"},
    {"edpp_multipler", "edpp_multiplier_percent"},
    {"power_smoothing.supported", "smoothing_delayed_supported"},
    {"cuda_core_count", "cuda_cores"},
    {"ecc.errors.corrected.volatile.device_memory", "ecc_corrected_volatile_dram"},
    {"ecc.errors.corrected.aggregate.device_memory", "ecc_corrected_aggregate_dram"},
    {"ecc.errors.uncorrected.volatile.device_memory", "ecc_uncorrected_volatile_dram"},
    {"ecc.errors.uncorrected.aggregate.device_memory", "ecc_uncorrected_aggregate_dram"},
    {"clocks_throttle_reasons.supported", "throttle_supported_mask"},
    {"clocks_throttle_reasons.active", "throttle_reasons_mask"},
    {"clocks_throttle_reasons.gpu_idle", "throttle_idle"},
    {"clocks_throttle_reasons.applications_clocks_setting", "throttle_application_clocks"},
    {"clocks_throttle_reasons.sw_power_cap", "throttle_power_cap"},
    {"clocks_throttle_reasons.hw_slowdown", "throttle_hardware"},
    {"clocks_throttle_reasons.hw_thermal_slowdown", "throttle_hardware_thermal"},
    {"clocks_throttle_reasons.hw_power_brake_slowdown", "throttle_power_brake"},
    {"clocks_throttle_reasons.sw_thermal_slowdown", "throttle_software_thermal"},
    {"clocks_throttle_reasons.sync_boost", "throttle_sync_boost"},
});

}  // namespace berth::field_rows
