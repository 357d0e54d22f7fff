#pragma once
// Rows of the field table: PCIe, engines, and memory errors. Internal to fields.cc.

#include <array>

#include "snapshot/detail_row.h"

namespace berth::field_rows {

using enum Unit;

constexpr auto load_details = std::to_array<Field>({
    detail<Detail::pcie_generation_device_max, std::uint64_t>(
        "pcie_generation_device_max", "pcie.link.gen.gpumax", count,
        "Best PCIe generation of the card.", ""),
    detail<Detail::pcie_generation_host_max, std::uint64_t>(
        "pcie_generation_host_max", "pcie.link.gen.hostmax", count,
        "Best PCIe generation of the slot.", ""),
    detail<Detail::pcie_replay_rollovers, std::uint64_t>(
        "pcie_replay_rollovers", "", count, "How often the count of repeated packets has wrapped.",
        ""),
    detail<Detail::pcie_sent_rate, BytesPerSecond>(
        "pcie_sent_rate_bytes_per_second", "", bytes_per_second,
        "Sent over PCIe since the look before.", "berth_device_pcie_sent_bytes_per_second"),
    detail<Detail::pcie_received_rate, BytesPerSecond>(
        "pcie_received_rate_bytes_per_second", "", bytes_per_second,
        "Received over PCIe since the look before.", "berth_device_pcie_received_bytes_per_second"),
    detail<Detail::pcie_atomics_outbound, std::string>(
        "pcie_atomics_outbound", "", none, "Atomic operations it can send over PCIe.", ""),
    detail<Detail::pcie_atomics_inbound, std::string>(
        "pcie_atomics_inbound", "", none, "Atomic operations it can receive over PCIe.", ""),
    detail<Detail::pci_path, std::string>(
        "pci_path", "", none, "Host bridge, bridges and device, as in the kernel's device tree.",
        ""),
    detail<Detail::cpu_affinity, std::string>("cpu_affinity", "", none,
                                              "Processors near the device, as 0-23,48.", ""),
    detail<Detail::throttle_supported, std::uint64_t>(
        "throttle_supported_mask", "clocks_event_reasons.supported", count,
        "NVML's bit mask of what could hold the clocks back.", ""),
    detail<Detail::throttled_power_cap, Microseconds>(
        "throttled_power_cap_microseconds", "clocks_event_reasons_counters.sw_power_cap",
        microseconds, "Time lost to the power limit.",
        "berth_device_throttled_seconds_total{reason=\"power_cap\"}"),
    detail<Detail::throttled_sync_boost, Microseconds>(
        "throttled_sync_boost_microseconds", "clocks_event_reasons_counters.sync_boost",
        microseconds, "Time lost to the slowest of a group.",
        "berth_device_throttled_seconds_total{reason=\"sync_boost\"}"),
    detail<Detail::throttled_software_thermal, Microseconds>(
        "throttled_software_thermal_microseconds",
        "clocks_event_reasons_counters.sw_thermal_slowdown", microseconds,
        "Time lost to heat, by the driver.",
        "berth_device_throttled_seconds_total{reason=\"software_thermal\"}"),
    detail<Detail::throttled_hardware_thermal, Microseconds>(
        "throttled_hardware_thermal_microseconds",
        "clocks_event_reasons_counters.hw_thermal_slowdown", microseconds,
        "Time lost to heat, by the chip.",
        "berth_device_throttled_seconds_total{reason=\"hardware_thermal\"}"),
    detail<Detail::throttled_power_brake, Microseconds>(
        "throttled_power_brake_microseconds",
        "clocks_event_reasons_counters.hw_power_brake_slowdown", microseconds,
        "Time lost to the power supply's brake.",
        "berth_device_throttled_seconds_total{reason=\"power_brake\"}"),
    detail<Detail::bar1_total, Bytes>("bar1_total_bytes", "", bytes,
                                      "All of the memory window of the PCI bus.",
                                      "berth_device_bar1_total_bytes"),
    detail<Detail::bar1_used, Bytes>("bar1_used_bytes", "", bytes,
                                     "Used of the memory window of the PCI bus.",
                                     "berth_device_bar1_used_bytes"),
    detail<Detail::bar1_free, Bytes>("bar1_free_bytes", "", bytes,
                                     "Free of the memory window of the PCI bus.", ""),
    detail<Detail::protected_memory_total, Bytes>("protected_memory_total_bytes",
                                                  "protected_memory.total", bytes,
                                                  "All of the memory protected from the host.", ""),
    detail<Detail::protected_memory_used, Bytes>("protected_memory_used_bytes",
                                                 "protected_memory.used", bytes,
                                                 "Used of the memory protected from the host.", ""),
    detail<Detail::protected_memory_free, Bytes>("protected_memory_free_bytes",
                                                 "protected_memory.free", bytes,
                                                 "Free of the memory protected from the host.", ""),
    detail<Detail::utilization_jpeg, Percent>("utilization_jpeg_percent", "utilization.jpeg",
                                              percent, "Load of the JPEG engine.",
                                              "berth_device_jpeg_utilization_ratio"),
    detail<Detail::utilization_optical_flow, Percent>(
        "utilization_optical_flow_percent", "utilization.ofa", percent,
        "Load of the optical flow engine.", "berth_device_optical_flow_utilization_ratio"),
    detail<Detail::encoder_sessions, std::uint64_t>(
        "encoder_sessions", "encoder.stats.sessionCount", count, "Sessions of the video encoder.",
        "berth_device_encoder_sessions"),
    detail<Detail::encoder_fps, std::uint64_t>("encoder_fps", "encoder.stats.averageFps", count,
                                               "Frames per second of its sessions, on average.",
                                               ""),
    detail<Detail::encoder_latency, Microseconds>("encoder_latency_microseconds",
                                                  "encoder.stats.averageLatency", microseconds,
                                                  "Delay of its sessions, on average.", ""),
    detail<Detail::capture_sessions, std::uint64_t>("capture_sessions", "", count,
                                                    "Sessions of frame buffer capture.", ""),
    detail<Detail::capture_fps, std::uint64_t>("capture_fps", "", count,
                                               "Frames per second of those, on average.", ""),
    detail<Detail::capture_latency, Microseconds>("capture_latency_microseconds", "", microseconds,
                                                  "Delay of those, on average.", ""),
    detail<Detail::ecc_corrected_volatile_dram, std::uint64_t>(
        "ecc_corrected_volatile_dram", "ecc.errors.corrected.volatile.dram", count,
        "Errors in device memory corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_register_file, std::uint64_t>(
        "ecc_corrected_volatile_register_file", "ecc.errors.corrected.volatile.register_file",
        count, "Errors in register files corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_l1_cache, std::uint64_t>(
        "ecc_corrected_volatile_l1_cache", "ecc.errors.corrected.volatile.l1_cache", count,
        "Errors in L1 caches corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_l2_cache, std::uint64_t>(
        "ecc_corrected_volatile_l2_cache", "ecc.errors.corrected.volatile.l2_cache", count,
        "Errors in L2 cache corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_texture, std::uint64_t>(
        "ecc_corrected_volatile_texture", "ecc.errors.corrected.volatile.texture_memory", count,
        "Errors in texture memory corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_cbu, std::uint64_t>(
        "ecc_corrected_volatile_cbu", "ecc.errors.corrected.volatile.cbu", count,
        "Errors in branch units corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_volatile_sram, std::uint64_t>(
        "ecc_corrected_volatile_sram", "ecc.errors.corrected.volatile.sram", count,
        "Errors in on-chip memories corrected since the driver was loaded.", ""),
    detail<Detail::ecc_corrected_aggregate_dram, std::uint64_t>(
        "ecc_corrected_aggregate_dram", "ecc.errors.corrected.aggregate.dram", count,
        "Errors in device memory corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_register_file, std::uint64_t>(
        "ecc_corrected_aggregate_register_file", "ecc.errors.corrected.aggregate.register_file",
        count, "Errors in register files corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_l1_cache, std::uint64_t>(
        "ecc_corrected_aggregate_l1_cache", "ecc.errors.corrected.aggregate.l1_cache", count,
        "Errors in L1 caches corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_l2_cache, std::uint64_t>(
        "ecc_corrected_aggregate_l2_cache", "ecc.errors.corrected.aggregate.l2_cache", count,
        "Errors in L2 cache corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_texture, std::uint64_t>(
        "ecc_corrected_aggregate_texture", "ecc.errors.corrected.aggregate.texture_memory", count,
        "Errors in texture memory corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_cbu, std::uint64_t>(
        "ecc_corrected_aggregate_cbu", "ecc.errors.corrected.aggregate.cbu", count,
        "Errors in branch units corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_sram, std::uint64_t>(
        "ecc_corrected_aggregate_sram", "ecc.errors.corrected.aggregate.sram", count,
        "Errors in on-chip memories corrected over its life.", ""),
    detail<Detail::ecc_corrected_aggregate_total, std::uint64_t>(
        "ecc_corrected_aggregate_total", "ecc.errors.corrected.aggregate.total", count,
        "Errors in all memories corrected over its life.",
        "berth_device_ecc_corrected_lifetime_errors_total"),
    detail<Detail::ecc_uncorrected_volatile_dram, std::uint64_t>(
        "ecc_uncorrected_volatile_dram", "ecc.errors.uncorrected.volatile.dram", count,
        "Errors in device memory not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_register_file, std::uint64_t>(
        "ecc_uncorrected_volatile_register_file", "ecc.errors.uncorrected.volatile.register_file",
        count, "Errors in register files not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_l1_cache, std::uint64_t>(
        "ecc_uncorrected_volatile_l1_cache", "ecc.errors.uncorrected.volatile.l1_cache", count,
        "Errors in L1 caches not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_l2_cache, std::uint64_t>(
        "ecc_uncorrected_volatile_l2_cache", "ecc.errors.uncorrected.volatile.l2_cache", count,
        "Errors in L2 cache not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_texture, std::uint64_t>(
        "ecc_uncorrected_volatile_texture", "ecc.errors.uncorrected.volatile.texture_memory", count,
        "Errors in texture memory not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_cbu, std::uint64_t>(
        "ecc_uncorrected_volatile_cbu", "ecc.errors.uncorrected.volatile.cbu", count,
        "Errors in branch units not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_volatile_sram, std::uint64_t>(
        "ecc_uncorrected_volatile_sram", "ecc.errors.uncorrected.volatile.sram", count,
        "Errors in on-chip memories not corrected since the driver was loaded.", ""),
    detail<Detail::ecc_uncorrected_aggregate_dram, std::uint64_t>(
        "ecc_uncorrected_aggregate_dram", "ecc.errors.uncorrected.aggregate.dram", count,
        "Errors in device memory not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_register_file, std::uint64_t>(
        "ecc_uncorrected_aggregate_register_file", "ecc.errors.uncorrected.aggregate.register_file",
        count, "Errors in register files not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_l1_cache, std::uint64_t>(
        "ecc_uncorrected_aggregate_l1_cache", "ecc.errors.uncorrected.aggregate.l1_cache", count,
        "Errors in L1 caches not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_l2_cache, std::uint64_t>(
        "ecc_uncorrected_aggregate_l2_cache", "ecc.errors.uncorrected.aggregate.l2_cache", count,
        "Errors in L2 cache not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_texture, std::uint64_t>(
        "ecc_uncorrected_aggregate_texture", "ecc.errors.uncorrected.aggregate.texture_memory",
        count, "Errors in texture memory not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_cbu, std::uint64_t>(
        "ecc_uncorrected_aggregate_cbu", "ecc.errors.uncorrected.aggregate.cbu", count,
        "Errors in branch units not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_sram, std::uint64_t>(
        "ecc_uncorrected_aggregate_sram", "ecc.errors.uncorrected.aggregate.sram", count,
        "Errors in on-chip memories not corrected over its life.", ""),
    detail<Detail::ecc_uncorrected_aggregate_total, std::uint64_t>(
        "ecc_uncorrected_aggregate_total", "ecc.errors.uncorrected.aggregate.total", count,
        "Errors in all memories not corrected over its life.",
        "berth_device_ecc_uncorrected_lifetime_errors_total"),
    detail<Detail::ecc_sram_parity_volatile, std::uint64_t>(
        "ecc_sram_parity_volatile", "ecc.errors.uncorrected.volatile.sram.parity", count,
        "Parity errors in on-chip memories since the driver was loaded.", ""),
    detail<Detail::ecc_sram_secded_volatile, std::uint64_t>(
        "ecc_sram_secded_volatile", "ecc.errors.uncorrected.volatile.sram.secded", count,
        "Double bit errors in on-chip memories since the driver was loaded.", ""),
    detail<Detail::ecc_sram_parity_aggregate, std::uint64_t>(
        "ecc_sram_parity_aggregate", "ecc.errors.uncorrected.aggregate.sram.parity", count,
        "Parity errors in on-chip memories over its life.", ""),
    detail<Detail::ecc_sram_secded_aggregate, std::uint64_t>(
        "ecc_sram_secded_aggregate", "ecc.errors.uncorrected.aggregate.sram.secded", count,
        "Double bit errors in on-chip memories over its life.", ""),
    detail<Detail::ecc_sram_threshold_exceeded, bool>(
        "ecc_sram_threshold_exceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
        none, "Whether on-chip memories had more errors than they may.",
        "berth_device_ecc_sram_threshold_exceeded"),
    detail<Detail::ecc_sram_source_l2, std::uint64_t>(
        "ecc_sram_source_l2", "ecc.errors.uncorrected.aggregate.sram.l2", count,
        "Errors in on-chip memories of the L2 cache over its life.", ""),
    detail<Detail::ecc_sram_source_sm, std::uint64_t>(
        "ecc_sram_source_sm", "ecc.errors.uncorrected.aggregate.sram.sm", count,
        "Errors in on-chip memories of SMs over its life.", ""),
    detail<Detail::ecc_sram_source_microcontroller, std::uint64_t>(
        "ecc_sram_source_microcontroller", "ecc.errors.uncorrected.aggregate.sram.mcu", count,
        "Errors in on-chip memories of microcontrollers over its life.", ""),
    detail<Detail::ecc_sram_source_pcie, std::uint64_t>(
        "ecc_sram_source_pcie", "ecc.errors.uncorrected.aggregate.sram.pcie", count,
        "Errors in on-chip memories of PCIe over its life.", ""),
    detail<Detail::ecc_sram_source_other, std::uint64_t>(
        "ecc_sram_source_other", "ecc.errors.uncorrected.aggregate.sram.other", count,
        "Errors in on-chip memories of other parts over its life.", ""),
    detail<Detail::channel_repair_pending, bool>(
        "channel_repair_pending", "", none,
        "Whether a memory channel is to be repaired at the next reset.",
        "berth_device_repair_pending{part=\"memory_channel\"}"),
    detail<Detail::tpc_repair_pending, bool>(
        "tpc_repair_pending", "", none,
        "Whether a processing cluster is to be repaired at the next reset.",
        "berth_device_repair_pending{part=\"processing_cluster\"}"),
    detail<Detail::unrepairable_memory, bool>("unrepairable_memory", "", none,
                                              "Whether there is memory that cannot be repaired.",
                                              "berth_device_unrepairable_memory"),
    detail<Detail::retired_pages_single_bit, std::uint64_t>(
        "retired_pages_single_bit", "retired_pages.single_bit_ecc.count", count,
        "Pages retired for repeated single bit errors.",
        "berth_device_retired_pages{cause=\"single_bit\"}"),
    detail<Detail::retired_pages_double_bit, std::uint64_t>(
        "retired_pages_double_bit", "retired_pages.double_bit.count", count,
        "Pages retired for double bit errors.", "berth_device_retired_pages{cause=\"double_bit\"}"),
    detail<Detail::retired_pages_pending, bool>(
        "retired_pages_pending", "retired_pages.pending", none,
        "Whether pages are to be retired at the next reboot.",
        "berth_device_retired_pages_pending"),
    detail<Detail::remapped_rows_correctable, std::uint64_t>(
        "remapped_rows_correctable", "remapped_rows.correctable", count,
        "Rows replaced for errors that were corrected.",
        "berth_device_remapped_rows{cause=\"corrected\"}"),
    detail<Detail::remapped_rows_uncorrectable, std::uint64_t>(
        "remapped_rows_uncorrectable", "remapped_rows.uncorrectable", count,
        "Rows replaced for errors that were not.",
        "berth_device_remapped_rows{cause=\"uncorrected\"}"),
    detail<Detail::remapped_rows_correctable_inactive, std::uint64_t>(
        "remapped_rows_correctable_inactive", "remapped_rows.correctable_inactive", count,
        "Of the corrected ones, those not in effect yet.", ""),
    detail<Detail::remapped_rows_uncorrectable_inactive, std::uint64_t>(
        "remapped_rows_uncorrectable_inactive", "remapped_rows.uncorrectable_inactive", count,
        "Of the uncorrected ones, those not in effect yet.", ""),
    detail<Detail::remapped_rows_pending, bool>(
        "remapped_rows_pending", "remapped_rows.pending", none,
        "Whether rows are to be replaced at the next reset.", "berth_device_row_remap_pending"),
    detail<Detail::remapped_rows_failed, bool>("remapped_rows_failed", "remapped_rows.failure",
                                               none, "Whether replacing a row ever failed.",
                                               "berth_device_row_remap_failed"),
    detail<Detail::remap_banks_max, std::uint64_t>(
        "remap_banks_max", "remapped_rows.histogram.max", count,
        "Memory banks with all of their spare rows left.",
        "berth_device_remap_banks{spare=\"all\"}"),
    detail<Detail::remap_banks_high, std::uint64_t>(
        "remap_banks_high", "remapped_rows.histogram.high", count,
        "Memory banks with most of their spare rows left.",
        "berth_device_remap_banks{spare=\"most\"}"),
    detail<Detail::remap_banks_partial, std::uint64_t>(
        "remap_banks_partial", "remapped_rows.histogram.partial", count,
        "Memory banks with some of their spare rows left.",
        "berth_device_remap_banks{spare=\"some\"}"),
    detail<Detail::remap_banks_low, std::uint64_t>(
        "remap_banks_low", "remapped_rows.histogram.low", count,
        "Memory banks with few of their spare rows left.",
        "berth_device_remap_banks{spare=\"few\"}"),
    detail<Detail::remap_banks_none, std::uint64_t>(
        "remap_banks_none", "remapped_rows.histogram.none", count,
        "Memory banks with none of their spare rows left.",
        "berth_device_remap_banks{spare=\"none\"}"),
});

}  // namespace berth::field_rows
