#pragma once
// Details: what the vendor's tool can print of a device and berth itself decides nothing by. A
// sparse list of cells: a device without asked details pays nothing. A detail that is not in it is
// `not_sampled`. Each Detail has a row in the field table (snapshot/fields_*.h), with its key, unit
// and nvidia-smi name. The comment beside it here is its cells' type.
//
//   device.details.set(Detail::bar1_total, Reading<Bytes>(256_MiB));
//   const Reading<Bytes> total = device.details.get<Bytes>(Detail::bar1_total);

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/cell.h"

namespace berth {

enum class Detail : std::uint16_t {
  // --- the board and its firmware
  pci_subsystem_id,         // text
  pci_base_class,           // number
  pci_sub_class,            // number
  pdi,                      // number
  board_id,                 // number
  multi_gpu_board,          // yes or no
  board_part_number,        // text
  gpu_part_number,          // text
  fru_part_number,          // text
  platform_chassis_serial,  // text
  platform_slot_number,     // number
  platform_tray_index,      // number
  platform_host_id,         // number
  platform_peer_type,       // text
  platform_module_id,       // number
  platform_fabric_guid,     // number
  inforom_image,            // text
  inforom_oem,              // text
  inforom_ecc,              // text
  inforom_power,            // text
  inforom_valid,            // yes or no
  inforom_flushed,          // Milliseconds
  inforom_flush_duration,   // Microseconds
  black_box_time_run,       // Seconds
  bridge_chip_type,         // text
  bridge_chip_firmware,     // text
  gsp_firmware,             // text
  gsp_mode,                 // yes or no
  gsp_mode_default,         // yes or no
  hostname,                 // text
  // --- modes and what it is good for
  display_mode,                 // yes or no
  addressing_mode,              // text
  mig_mode_pending,             // yes or no
  ecc_mode_pending,             // yes or no
  accounting_mode,              // yes or no
  accounting_buffer_size,       // number
  driver_model,                 // text
  driver_model_pending,         // text
  operation_mode,               // text
  operation_mode_pending,       // text
  c2c_mode,                     // yes or no
  virtualization_mode,          // text
  host_vgpu_mode,               // text
  vgpu_heterogeneous_mode,      // text
  vgpu_driver_heterogeneous,    // text
  vgpu_fractional,              // text
  vgpu_timeslice_profiles,      // text
  vgpu_timeslice_sizes,         // text
  vgpu_homogeneous_placements,  // text
  vgpu_mig_timeslicing,         // text
  vgpu_mig_timeslicing_mode,    // text
  vgpu_licensed_product,        // text
  vgpu_license_status,          // text
  reset_required,               // yes or no
  drain_and_reset_recommended,  // yes or no
  recovery_action,              // text
  relaxed_ordering,             // text
  sparse_operation_mode,        // yes or no
  dram_encryption,              // yes or no
  dram_encryption_pending,      // yes or no
  auto_boost,                   // yes or no
  auto_boost_default,           // yes or no
  egm,                          // yes or no
  power_state,                  // number
  mig_copy_engines,             // number
  mig_encoders,                 // number
  mig_decoders,                 // number
  mig_ofa_engines,              // number
  mig_jpeg_engines,             // number
  // --- PCIe
  pcie_generation_device_max,  // number
  pcie_generation_host_max,    // number
  pcie_replay_rollovers,       // number
  pcie_sent_rate,              // BytesPerSecond
  pcie_received_rate,          // BytesPerSecond
  pcie_atomics_outbound,       // text
  pcie_atomics_inbound,        // text
  pci_path,                    // text
  cpu_affinity,                // text
  // --- what holds it back, memory windows, engines
  throttle_supported,          // number
  throttled_power_cap,         // Microseconds
  throttled_sync_boost,        // Microseconds
  throttled_software_thermal,  // Microseconds
  throttled_hardware_thermal,  // Microseconds
  throttled_power_brake,       // Microseconds
  bar1_total,                  // Bytes
  bar1_used,                   // Bytes
  bar1_free,                   // Bytes
  protected_memory_total,      // Bytes
  protected_memory_used,       // Bytes
  protected_memory_free,       // Bytes
  utilization_jpeg,            // Percent
  utilization_optical_flow,    // Percent
  encoder_sessions,            // number
  encoder_fps,                 // number
  encoder_latency,             // Microseconds
  capture_sessions,            // number
  capture_fps,                 // number
  capture_latency,             // Microseconds
  // --- memory errors
  ecc_corrected_volatile_dram,              // number
  ecc_corrected_volatile_register_file,     // number
  ecc_corrected_volatile_l1_cache,          // number
  ecc_corrected_volatile_l2_cache,          // number
  ecc_corrected_volatile_texture,           // number
  ecc_corrected_volatile_cbu,               // number
  ecc_corrected_volatile_sram,              // number
  ecc_corrected_aggregate_dram,             // number
  ecc_corrected_aggregate_register_file,    // number
  ecc_corrected_aggregate_l1_cache,         // number
  ecc_corrected_aggregate_l2_cache,         // number
  ecc_corrected_aggregate_texture,          // number
  ecc_corrected_aggregate_cbu,              // number
  ecc_corrected_aggregate_sram,             // number
  ecc_corrected_aggregate_total,            // number
  ecc_uncorrected_volatile_dram,            // number
  ecc_uncorrected_volatile_register_file,   // number
  ecc_uncorrected_volatile_l1_cache,        // number
  ecc_uncorrected_volatile_l2_cache,        // number
  ecc_uncorrected_volatile_texture,         // number
  ecc_uncorrected_volatile_cbu,             // number
  ecc_uncorrected_volatile_sram,            // number
  ecc_uncorrected_aggregate_dram,           // number
  ecc_uncorrected_aggregate_register_file,  // number
  ecc_uncorrected_aggregate_l1_cache,       // number
  ecc_uncorrected_aggregate_l2_cache,       // number
  ecc_uncorrected_aggregate_texture,        // number
  ecc_uncorrected_aggregate_cbu,            // number
  ecc_uncorrected_aggregate_sram,           // number
  ecc_uncorrected_aggregate_total,          // number
  ecc_sram_parity_volatile,                 // number
  ecc_sram_secded_volatile,                 // number
  ecc_sram_parity_aggregate,                // number
  ecc_sram_secded_aggregate,                // number
  ecc_sram_threshold_exceeded,              // yes or no
  ecc_sram_source_l2,                       // number
  ecc_sram_source_sm,                       // number
  ecc_sram_source_microcontroller,          // number
  ecc_sram_source_pcie,                     // number
  ecc_sram_source_other,                    // number
  channel_repair_pending,                   // yes or no
  tpc_repair_pending,                       // yes or no
  unrepairable_memory,                      // yes or no
  retired_pages_single_bit,                 // number
  retired_pages_double_bit,                 // number
  retired_pages_pending,                    // yes or no
  remapped_rows_correctable,                // number
  remapped_rows_uncorrectable,              // number
  remapped_rows_correctable_inactive,       // number
  remapped_rows_uncorrectable_inactive,     // number
  remapped_rows_pending,                    // yes or no
  remapped_rows_failed,                     // yes or no
  remap_banks_max,                          // number
  remap_banks_high,                         // number
  remap_banks_partial,                      // number
  remap_banks_low,                          // number
  remap_banks_none,                         // number
  // --- heat and power
  temperature_limit_margin,               // Celsius
  temperature_shutdown,                   // Celsius
  temperature_max_operating,              // Celsius
  temperature_memory_max_operating,       // Celsius
  temperature_shutdown_margin,            // Celsius
  temperature_slowdown_margin,            // Celsius
  temperature_max_operating_margin,       // Celsius
  temperature_memory_margin,              // Celsius
  temperature_target,                     // Celsius
  temperature_target_min,                 // Celsius
  temperature_target_max,                 // Celsius
  power_management,                       // text
  power_draw_average,                     // Milliwatts
  power_draw_instant,                     // Milliwatts
  power_limit_requested,                  // Milliwatts
  power_limit_min,                        // Milliwatts
  power_limit_max,                        // Milliwatts
  power_memory_average,                   // Milliwatts
  power_memory_instant,                   // Milliwatts
  module_power_draw_average,              // Milliwatts
  module_power_draw_instant,              // Milliwatts
  module_power_limit_requested,           // Milliwatts
  module_power_limit,                     // Milliwatts
  module_power_limit_default,             // Milliwatts
  module_power_limit_min,                 // Milliwatts
  module_power_limit_max,                 // Milliwatts
  base_power_current,                     // Milliwatts
  base_power_requested,                   // Milliwatts
  base_power_default,                     // Milliwatts
  base_power_min,                         // Milliwatts
  base_power_max,                         // Milliwatts
  edpp_multiplier,                        // Percent
  power_profiles_requested,               // text
  power_profiles_enforced,                // text
  smoothing_enabled,                      // yes or no
  smoothing_privilege,                    // number
  smoothing_immediate_ramp_down,          // yes or no
  smoothing_floor,                        // Milliwatts
  smoothing_ceiling,                      // Milliwatts
  smoothing_lifetime_remaining,           // Percent
  smoothing_floor_max,                    // Percent
  smoothing_floor_min,                    // Percent
  smoothing_profiles,                     // number
  smoothing_profile,                      // number
  smoothing_stored_energy_enabled,        // yes or no
  smoothing_delayed_supported,            // yes or no
  smoothing_primary_floor,                // Milliwatts
  smoothing_secondary_floor,              // Milliwatts
  smoothing_activation_offset_min,        // Milliwatts
  smoothing_activation_point_min,         // Milliwatts
  smoothing_window,                       // Milliseconds
  smoothing_profile_floor,                // Percent
  smoothing_profile_ramp_up,              // number
  smoothing_profile_ramp_down,            // number
  smoothing_profile_hysteresis,           // Milliseconds
  smoothing_profile_secondary_floor,      // Milliwatts
  smoothing_profile_activation_windows,   // number
  smoothing_profile_target_windows,       // number
  smoothing_profile_activation_offset,    // Milliwatts
  smoothing_override_floor,               // Percent
  smoothing_override_ramp_up,             // number
  smoothing_override_ramp_down,           // number
  smoothing_override_hysteresis,          // Milliseconds
  smoothing_override_secondary_floor,     // Milliwatts
  smoothing_override_activation_windows,  // number
  smoothing_override_target_windows,      // number
  smoothing_override_activation_offset,   // Milliwatts
  // --- clocks and fabric
  clock_video,                    // Megahertz
  clock_video_max,                // Megahertz
  clock_application_graphics,     // Megahertz
  clock_application_memory,       // Megahertz
  clock_default_graphics,         // Megahertz
  clock_default_memory,           // Megahertz
  clock_deferred_memory,          // Megahertz
  clock_customer_boost,           // Megahertz
  voltage_graphics,               // Millivolts
  fabric_state,                   // text
  fabric_status,                  // text
  fabric_clique,                  // number
  fabric_cluster,                 // text
  fabric_health_summary,          // text
  fabric_health_bandwidth,        // text
  fabric_health_route_recovery,   // text
  fabric_health_route_unhealthy,  // text
  fabric_health_access_timeout,   // text
  fabric_health_configuration,    // text
  fabric_health_partition,        // text
  // --- the driver's recent samples, summed up (for smi -q -d)
  samples_power_span,                        // Milliseconds
  samples_power_count,                       // number
  samples_power_max,                         // Milliwatts
  samples_power_min,                         // Milliwatts
  samples_power_average,                     // Milliwatts
  samples_utilization_gpu_span,              // Milliseconds
  samples_utilization_gpu_count,             // number
  samples_utilization_gpu_max,               // Percent
  samples_utilization_gpu_min,               // Percent
  samples_utilization_gpu_average,           // Percent
  samples_utilization_memory_span,           // Milliseconds
  samples_utilization_memory_count,          // number
  samples_utilization_memory_max,            // Percent
  samples_utilization_memory_min,            // Percent
  samples_utilization_memory_average,        // Percent
  samples_utilization_encoder_span,          // Milliseconds
  samples_utilization_encoder_count,         // number
  samples_utilization_encoder_max,           // Percent
  samples_utilization_encoder_min,           // Percent
  samples_utilization_encoder_average,       // Percent
  samples_utilization_decoder_span,          // Milliseconds
  samples_utilization_decoder_count,         // number
  samples_utilization_decoder_max,           // Percent
  samples_utilization_decoder_min,           // Percent
  samples_utilization_decoder_average,       // Percent
  samples_utilization_jpeg_span,             // Milliseconds
  samples_utilization_jpeg_count,            // number
  samples_utilization_jpeg_max,              // Percent
  samples_utilization_jpeg_min,              // Percent
  samples_utilization_jpeg_average,          // Percent
  samples_utilization_optical_flow_span,     // Milliseconds
  samples_utilization_optical_flow_count,    // number
  samples_utilization_optical_flow_max,      // Percent
  samples_utilization_optical_flow_min,      // Percent
  samples_utilization_optical_flow_average,  // Percent
  samples_clock_sm_span,                     // Milliseconds
  samples_clock_sm_count,                    // number
  samples_clock_sm_max,                      // Megahertz
  samples_clock_sm_min,                      // Megahertz
  samples_clock_sm_average,                  // Megahertz
  samples_clock_memory_span,                 // Milliseconds
  samples_clock_memory_count,                // number
  samples_clock_memory_max,                  // Megahertz
  samples_clock_memory_min,                  // Megahertz
  samples_clock_memory_average,              // Megahertz
  // --- NVLink, all links together
  nvlink_count,          // number
  nvlink_active,         // number
  nvlink_flit_errors,    // number
  nvlink_data_errors,    // number
  nvlink_replays,        // number
  nvlink_recoveries,     // number
  nvlink_ecc_errors,     // number
  nvlink_sent_rate,      // BytesPerSecond
  nvlink_received_rate,  // BytesPerSecond
  // --- between two looks, what nvidia-smi does not show
  activity_graphics,                  // Percent
  activity_sm,                        // Percent
  activity_occupancy,                 // Percent
  activity_integer,                   // Percent
  activity_tensor,                    // Percent
  activity_dram,                      // Percent
  activity_fp64,                      // Percent
  activity_fp32,                      // Percent
  activity_fp16,                      // Percent
  window_power_count,                 // number
  window_power_min,                   // Milliwatts
  window_power_mean,                  // Milliwatts
  window_power_p95,                   // Milliwatts
  window_power_max,                   // Milliwatts
  window_utilization_gpu_count,       // number
  window_utilization_gpu_min,         // Percent
  window_utilization_gpu_mean,        // Percent
  window_utilization_gpu_p95,         // Percent
  window_utilization_gpu_max,         // Percent
  window_utilization_memory_count,    // number
  window_utilization_memory_min,      // Percent
  window_utilization_memory_mean,     // Percent
  window_utilization_memory_p95,      // Percent
  window_utilization_memory_max,      // Percent
  window_throttled_power_cap,         // Microseconds
  window_throttled_sync_boost,        // Microseconds
  window_throttled_software_thermal,  // Microseconds
  window_throttled_hardware_thermal,  // Microseconds
  window_throttled_power_brake,       // Microseconds
  window_nvlink_flit_errors,          // number
  window_nvlink_data_errors,          // number
  window_nvlink_replays,              // number
  window_nvlink_recoveries,           // number
  window_nvlink_ecc_errors,           // number
  window_span,                        // Milliseconds
};
inline constexpr std::size_t detail_count = static_cast<std::size_t>(Detail::window_span) + 1;

class Details {
 public:
  struct Entry {
    Detail detail;
    Cell cell;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// `not_sampled` where nobody has put one.
  [[nodiscard]] const Cell& cell(Detail detail) const;
  /// In its own type; `failed` if what was put has another.
  template <class T>
  [[nodiscard]] Reading<T> get(Detail detail) const {
    return reading_of<T>(cell(detail)).value_or(Reading<T>(Absent::failed));
  }
  void put(Detail detail, Cell cell);
  template <class T>
  void set(Detail detail, const Reading<T>& reading) {
    put(detail, cell_of(reading));
  }
  /// Takes from an earlier look what nobody has put here.
  void add_missing(const Details& earlier);
  /// In the order of the enumeration.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  friend bool operator==(const Details&, const Details&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace berth
