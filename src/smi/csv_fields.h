#pragma once
// The columns of --query-gpu in the order of --help-query-gpu, of drivers 590, 595 and 610
// together. What they read is in the field table under the same names.

#include <array>
#include <optional>
#include <string_view>

#include "smi/format.h"

namespace berth::smi {

struct CsvField {
  std::string_view name;
  Format format = Format::text;
  std::string_view alias;
  int from = 590;         // the first driver whose help has it
  int deprecated = 9999;  // from then on the cell says so
  /// Written where there is no value; nothing: [N/A].
  std::optional<std::string_view> absent;
  int absent_from = 0;         // before this driver it is [N/A] all the same
  std::string_view unit = {};  // in the heading; empty: that of the format

  [[nodiscard]] constexpr CsvField headed(std::string_view text) const {
    CsvField copy = *this;
    copy.unit = text;
    return copy;
  }
  [[nodiscard]] constexpr CsvField since(int driver) const {
    CsvField copy = *this;
    copy.from = driver;
    return copy;
  }
  [[nodiscard]] constexpr CsvField deprecated_from(int driver) const {
    CsvField copy = *this;
    copy.deprecated = driver;
    return copy;
  }
  [[nodiscard]] constexpr CsvField absent_as(std::string_view text, int driver = 0) const {
    CsvField copy = *this;
    copy.absent = text;
    copy.absent_from = driver;
    return copy;
  }
};

constexpr CsvField field(std::string_view name, Format format, std::string_view alias = {}) {
  return {.name = name, .format = format, .alias = alias};
}

namespace csv_rows {

using enum Format;

inline constexpr auto gpu_fields = std::to_array<CsvField>({
    field("timestamp", date),
    field("driver_version", text),
    field("kmd_version", text).since(595),
    field("vgpu_driver_capability.heterogenous_multivGPU", text),
    field("count", number),
    field("name", text, "gpu_name"),
    field("serial", text, "gpu_serial"),
    field("uuid", text, "gpu_uuid"),
    field("pci.bus_id", bus_id, "gpu_bus_id"),
    field("pci.domain", pci_domain),
    field("pci.bus", pci_part),
    field("pci.device", pci_part),
    field("pci.baseClass", pci_class),
    field("pci.subClass", pci_class),
    field("pci.device_id", pci_number),
    field("pci.sub_device_id", pci_number),
    field("vgpu_device_capability.fractional_multiVgpu", text),
    field("vgpu_device_capability.heterogeneous_timeSlice_profile", text),
    field("vgpu_device_capability.heterogeneous_timeSlice_sizes", text),
    field("vgpu_device_capability.homogeneous_placements", text),
    field("vgpu_device_capability.mig_timeSlicing", text),
    field("vgpu_device_capability.mig_timeSlicing_mode", text),
    field("pcie.link.gen.current", number),
    field("pcie.link.gen.gpucurrent", number),
    field("pcie.link.gen.max", number),
    field("pcie.link.gen.gpumax", number),
    field("pcie.link.gen.hostmax", number),
    field("pcie.link.width.current", width),
    field("pcie.link.width.max", width),
    field("index", number),
    field("display_mode", enabled).deprecated_from(580),
    field("display_attached", yes_no),
    field("display_active", enabled),
    field("persistence_mode", enabled),
    field("addressing_mode", text),
    field("accounting.mode", enabled),
    field("accounting.buffer_size", number),
    field("driver_model.current", text),
    field("driver_model.pending", text),
    field("vbios_version", text),
    field("inforom.img", text, "inforom.image"),
    field("inforom.oem", text),
    field("inforom.ecc", text),
    field("inforom.pwr", text, "inforom.power"),
    field("inforom.checksum_validation", valid),
    field("bbx.time_run", seconds).since(610).headed("seconds"),
    field("reset_status.reset_required", yes_no).since(535).deprecated_from(570),
    field("reset_status.drain_and_reset_recommended", yes_no).since(535).deprecated_from(570),
    field("gpu_recovery_action", text),
    field("gom.current", text, "gpu_operation_mode.current"),
    field("gom.pending", text, "gpu_operation_mode.pending"),
    field("fan.speed", percent),
    field("pstate", performance_state),
    field("clocks_event_reasons.supported", mask, "clocks_throttle_reasons.supported"),
    field("clocks_event_reasons.active", mask, "clocks_throttle_reasons.active"),
    field("clocks_event_reasons.gpu_idle", active, "clocks_throttle_reasons.gpu_idle"),
    field("clocks_event_reasons.applications_clocks_setting", active,
          "clocks_throttle_reasons.applications_clocks_setting"),
    field("clocks_event_reasons.sw_power_cap", active, "clocks_throttle_reasons.sw_power_cap"),
    field("clocks_event_reasons.hw_slowdown", active, "clocks_throttle_reasons.hw_slowdown"),
    field("clocks_event_reasons.hw_thermal_slowdown", active,
          "clocks_throttle_reasons.hw_thermal_slowdown"),
    field("clocks_event_reasons.hw_power_brake_slowdown", active,
          "clocks_throttle_reasons.hw_power_brake_slowdown"),
    field("clocks_event_reasons.sw_thermal_slowdown", active,
          "clocks_throttle_reasons.sw_thermal_slowdown"),
    field("clocks_event_reasons.sync_boost", active, "clocks_throttle_reasons.sync_boost"),
    field("clocks_event_reasons_counters.sw_power_cap", microseconds),
    field("clocks_event_reasons_counters.sync_boost", microseconds),
    field("clocks_event_reasons_counters.sw_thermal_slowdown", microseconds),
    field("clocks_event_reasons_counters.hw_thermal_slowdown", microseconds),
    field("clocks_event_reasons_counters.hw_power_brake_slowdown", microseconds),
    field("memory.total", memory),
    field("memory.reserved", memory),
    field("memory.used", memory),
    field("memory.free", memory),
    field("compute_mode", text),
    field("compute_cap", text),
    field("utilization.gpu", percent),
    field("utilization.memory", percent),
    field("utilization.encoder", percent),
    field("utilization.decoder", percent),
    field("utilization.jpeg", percent),
    field("utilization.ofa", percent),
    field("encoder.stats.sessionCount", number),
    field("encoder.stats.averageFps", number),
    field("encoder.stats.averageLatency", number),
    field("dramEncryption.mode.current", enabled),
    field("dramEncryption.mode.pending", enabled),
    field("ecc.mode.current", enabled),
    field("ecc.mode.pending", enabled),
    field("ecc.errors.corrected.volatile.device_memory", number),
    field("ecc.errors.corrected.volatile.dram", number),
    field("ecc.errors.corrected.volatile.register_file", number),
    field("ecc.errors.corrected.volatile.l1_cache", number),
    field("ecc.errors.corrected.volatile.l2_cache", number),
    field("ecc.errors.corrected.volatile.texture_memory", number),
    field("ecc.errors.corrected.volatile.cbu", number),
    field("ecc.errors.corrected.volatile.sram", number),
    field("ecc.errors.corrected.volatile.total", number),
    field("ecc.errors.corrected.aggregate.device_memory", number),
    field("ecc.errors.corrected.aggregate.dram", number),
    field("ecc.errors.corrected.aggregate.register_file", number),
    field("ecc.errors.corrected.aggregate.l1_cache", number),
    field("ecc.errors.corrected.aggregate.l2_cache", number),
    field("ecc.errors.corrected.aggregate.texture_memory", number),
    field("ecc.errors.corrected.aggregate.cbu", number),
    field("ecc.errors.corrected.aggregate.sram", number),
    field("ecc.errors.corrected.aggregate.total", number),
    field("ecc.errors.uncorrected.volatile.device_memory", number),
    field("ecc.errors.uncorrected.volatile.dram", number),
    field("ecc.errors.uncorrected.volatile.register_file", number),
    field("ecc.errors.uncorrected.volatile.l1_cache", number),
    field("ecc.errors.uncorrected.volatile.l2_cache", number),
    field("ecc.errors.uncorrected.volatile.texture_memory", number),
    field("ecc.errors.uncorrected.volatile.cbu", number),
    field("ecc.errors.uncorrected.volatile.sram", number),
    field("ecc.errors.uncorrected.volatile.total", number),
    field("ecc.errors.uncorrected.aggregate.device_memory", number),
    field("ecc.errors.uncorrected.aggregate.dram", number),
    field("ecc.errors.uncorrected.aggregate.register_file", number),
    field("ecc.errors.uncorrected.aggregate.l1_cache", number),
    field("ecc.errors.uncorrected.aggregate.l2_cache", number),
    field("ecc.errors.uncorrected.aggregate.texture_memory", number),
    field("ecc.errors.uncorrected.aggregate.cbu", number),
    field("ecc.errors.uncorrected.aggregate.sram", number),
    field("ecc.errors.uncorrected.aggregate.total", number),
    field("ecc.errors.uncorrected.volatile.sram.parity", number),
    field("ecc.errors.uncorrected.volatile.sram.secded", number),
    field("ecc.errors.uncorrected.aggregate.sram.parity", number),
    field("ecc.errors.uncorrected.aggregate.sram.secded", number),
    field("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", yes_no),
    field("ecc.errors.uncorrected.aggregate.sram.l2", number),
    field("ecc.errors.uncorrected.aggregate.sram.sm", number),
    field("ecc.errors.uncorrected.aggregate.sram.mcu", number),
    field("ecc.errors.uncorrected.aggregate.sram.pcie", number),
    field("ecc.errors.uncorrected.aggregate.sram.other", number),
    field("retired_pages.single_bit_ecc.count", number, "retired_pages.sbe"),
    field("retired_pages.double_bit.count", number, "retired_pages.dbe"),
    field("retired_pages.pending", yes_no),
    field("remapped_rows.correctable", number, "remapped_rows.sbe"),
    field("remapped_rows.correctable_inactive", number).since(595),
    field("remapped_rows.uncorrectable", number, "remapped_rows.dbe"),
    field("remapped_rows.uncorrectable_inactive", number).since(595),
    field("remapped_rows.pending", yes_no),
    field("remapped_rows.failure", yes_no),
    field("remapped_rows.histogram.max", banks),
    field("remapped_rows.histogram.high", banks),
    field("remapped_rows.histogram.partial", banks),
    field("remapped_rows.histogram.low", banks),
    field("remapped_rows.histogram.none", banks),
    field("temperature.gpu", celsius),
    field("temperature.gpu.tlimit", celsius),
    field("temperature.memory", celsius).absent_as("N/A"),
    field("power.management", management).deprecated_from(580),
    field("power.draw", watts),
    field("power.draw.average", watts, "gpu.power.draw.average"),
    field("power.draw.instant", watts, "gpu.power.draw.instant"),
    field("power.limit", watts, "gpu.power.requested_limit"),
    field("enforced.power.limit", watts, "gpu.power.current_limit"),
    field("power.default_limit", watts, "gpu.power.default_limit"),
    field("power.min_limit", watts, "gpu.power.min_limit"),
    field("power.max_limit", watts, "gpu.power.max_limit"),
    field("module.power.draw.average", watts),
    field("module.power.draw.instant", watts),
    field("module.power.limit", watts, "module.power.requested_limit"),
    field("module.enforced.power.limit", watts, "module.power.current_limit"),
    field("module.power.default_limit", watts),
    field("module.power.min_limit", watts),
    field("module.power.max_limit", watts),
    field("gpu.base.current", watts).since(610),
    field("gpu.base.requested", watts).since(610),
    field("gpu.base.default", watts).since(610),
    field("gpu.base.min", watts).since(610),
    field("gpu.base.max", watts).since(610),
    field("power_smoothing.enabled", yes_no).since(610),
    field("power_smoothing.priv_level", number).since(610),
    field("power_smoothing.imm_ramp_down", enabled).since(610),
    field("power_smoothing.tmp_floor", watts).since(610),
    field("power_smoothing.tmp_ceil", watts).since(610),
    field("power_smoothing.hw_lifetime_remaining_percent", percent).since(610),
    field("power_smoothing.max_percent_tmp_floor", percent).since(610),
    field("power_smoothing.min_percent_tmp_floor", percent).since(610),
    field("power_smoothing.num_preset_profiles", number).since(610),
    field("power_smoothing.active_profile", number).since(610),
    field("power_smoothing.curr_profile.percent_tmp_floor", percent).since(610),
    field("power_smoothing.curr_profile.ramp_up_rate", number).since(610).headed("W/s"),
    field("power_smoothing.curr_profile.ramp_down_rate", number).since(610).headed("W/s"),
    field("power_smoothing.curr_profile.ramp_down_hysteresis", milliseconds).since(610),
    field("power_smoothing.admin_override.percent_tmp_floor", percent).since(610),
    field("power_smoothing.admin_override.ramp_up_rate", number).since(610).headed("W/s"),
    field("power_smoothing.admin_override.ramp_down_rate", number).since(610).headed("W/s"),
    field("power_smoothing.admin_override.ramp_down_hysteresis", milliseconds).since(610),
    field("power_smoothing.delayed_power_smoothing_supported", yes_no),
    field("power_smoothing.primary_power_floor", watts),
    field("power_smoothing.secondary_power_floor", watts),
    field("power_smoothing.min_primary_floor_activation_offset", watts),
    field("power_smoothing.min_primary_floor_activation_point", watts),
    field("power_smoothing.window_multiplier", milliseconds),
    field("power_smoothing.curr_profile.secondary_power_floor", watts),
    field("power_smoothing.curr_profile.primary_floor_act_window_multiplier", number),
    field("power_smoothing.curr_profile.primary_floor_tar_window_multiplier", number),
    field("power_smoothing.curr_profile.primary_floor_act_offset", watts),
    field("power_smoothing.admin_override.secondary_power_floor", watts),
    field("power_smoothing.admin_override.primary_floor_act_window_multiplier", number),
    field("power_smoothing.admin_override.primary_floor_tar_window_multiplier", number),
    field("power_smoothing.admin_override.primary_floor_act_offset", watts),
    field("power_smoothing.soc_power_smoothing_enabled", enabled).since(610),
    field("edpp_multiplier", percent_exact),
    field("clocks.current.graphics", megahertz, "clocks.gr"),
    field("clocks.current.sm", megahertz, "clocks.sm"),
    field("clocks.current.memory", megahertz, "clocks.mem"),
    field("clocks.current.video", megahertz, "clocks.video"),
    field("clocks.applications.graphics", megahertz, "clocks.applications.gr").deprecated_from(590),
    field("clocks.applications.memory", megahertz, "clocks.applications.mem").deprecated_from(590),
    field("clocks.default_applications.graphics", megahertz, "clocks.default_applications.gr")
        .deprecated_from(590),
    field("clocks.default_applications.memory", megahertz, "clocks.default_applications.mem")
        .deprecated_from(590),
    field("clocks.max.graphics", megahertz, "clocks.max.gr"),
    field("clocks.max.sm", megahertz),
    field("clocks.max.memory", megahertz, "clocks.max.mem"),
    field("mig.mode.current", enabled),
    field("mig.mode.pending", enabled),
    field("gsp.mode.current", enabled),
    field("gsp.mode.default", enabled),
    field("c2c.mode", enabled),
    field("protected_memory.total", memory),
    field("protected_memory.used", memory),
    field("protected_memory.free", memory),
    field("fabric.state", text).absent_as("N/A", 560),
    field("fabric.status", text).absent_as("N/A", 560),
    field("fabric.cliqueId", number).absent_as("N/A"),
    field("fabric.clusterUuid", text).absent_as("N/A"),
    field("fabric.health.summary", text).absent_as("N/A"),
    field("fabric.health.bandwidth", text).absent_as("N/A"),
    field("fabric.health.route_recovery_in_progress", text).absent_as("N/A"),
    field("fabric.health.route_unhealthy", text).absent_as("N/A"),
    field("fabric.health.access_timeout_recovery", text).absent_as("N/A"),
    field("fabric.health.incorrect_configuration", text).absent_as("N/A"),
    field("fabric.health.partition_assigned", text).since(595).absent_as("N/A"),
    field("platform.chassis_serial_number", text).absent_as(""),
    field("platform.slot_number", number).absent_as("0"),
    field("platform.tray_index", number).absent_as("0"),
    field("platform.host_id", number).absent_as("1"),
    field("platform.peer_type", text).absent_as("Direct Connected"),
    field("platform.module_id", number),
    field("platform.gpu_fabric_guid", mask).absent_as("0x0000000000000000"),
    field("hostname", text),
});

}  // namespace csv_rows

}  // namespace berth::smi
