#pragma once
// Rows of the layout of -q: the board, modes, PCIe, load, errors, heat. Internal to the layout.

#include <array>

#include "smi/layout.h"

namespace berth::smi::rows {

using enum Format;

// Printed with these spaces behind them.
constexpr std::string_view single_bit = "Single Bit            ";
constexpr std::string_view double_bit = "Double Bit            ";

constexpr auto state_rows = std::to_array<LayoutRow>({
    leaf(0, "Product Name", "product_name", "name"),
    leaf(0, "Product Brand", "product_brand", "brand"),
    leaf(0, "Product Architecture", "product_architecture", "architecture").since(510),
    leaf(0, "Display Mode", "display_mode", "display_mode", enabled),
    leaf(0, "Display Attached", "display_attached", "display_attached", yes_no).since(580),
    leaf(0, "Display Active", "display_active", "display_active", enabled),
    leaf(0, "Persistence Mode", "persistence_mode", "persistence_mode", enabled),
    leaf(0, "Addressing Mode", "addressing_mode", "addressing_mode").since(535),
    section(0, "MIG Mode", "mig_mode"),
    leaf(1, "Current", "current_mig", "mig_mode", enabled),
    leaf(1, "Pending", "pending_mig", "mig_mode_pending", enabled),
    special(Special::mig_devices, "", "mig_devices"),
    leaf(0, "Accounting Mode", "accounting_mode", "accounting_mode", enabled).about("ACCOUNTING"),
    leaf(0, "Accounting Mode Buffer Size", "accounting_mode_buffer_size", "accounting_buffer_size",
         number)
        .about("ACCOUNTING"),
    section(0, "Driver Model", "driver_model"),
    leaf(1, "Current", "current_dm", "driver_model"),
    leaf(1, "Pending", "pending_dm", "driver_model_pending"),
    leaf(0, "Serial Number", "serial", "serial"),
    leaf(0, "GPU UUID", "uuid", "uuid"),
    leaf(0, "GPU PDI", "pdi", "pdi", hex_wide).since(580),
    leaf(0, "Minor Number", "minor_number", "minor_number", number),
    leaf(0, "VBIOS Version", "vbios_version", "vbios_version"),
    leaf(0, "MultiGPU Board", "multigpu_board", "multi_gpu_board", yes_no),
    leaf(0, "Board ID", "board_id", "board_id", hex),
    leaf(0, "Board Part Number", "board_part_number", "board_part_number").since(520),
    leaf(0, "GPU Part Number", "gpu_part_number", "gpu_part_number"),
    leaf(0, "FRU Part Number", "gpu_fru_part_number", "fru_part_number").since(530),
    leaf(0, "Module ID", "gpu_module_id", "platform_module_id", number).upto(564),
    section(0, "Platform Info", "platformInfo").since(565),
    leaf(1, "Chassis Serial Number", "chassis_serial_number", "platform_chassis_serial")
        .before(570, "RACK Serial Number", "rack_serial_number"),
    leaf(1, "Slot Number", "slot_number", "platform_slot_number", number)
        .before(570, "Chassis Physical Slot Number", "chassis_physical_slot_number"),
    leaf(1, "Tray Index", "tray_index", "platform_tray_index", number)
        .before(570, "Compute Slot Index", "compute_slot_index"),
    leaf(1, "Host ID", "host_id", "platform_host_id", number)
        .before(570, "Node Index", "node_index"),
    leaf(1, "Peer Type", "peer_type", "platform_peer_type"),
    leaf(1, "Module Id", "module_id", "platform_module_id", number),
    leaf(1, "GPU Fabric GUID", "gpu_fabric_guid", "platform_fabric_guid", hex).since(570).upto(579),
    leaf(1, "GPU Fabric GUID", "gpu_fabric_guid", "platform_fabric_guid", hex_wide).since(580),
    section(0, "Inforom Version", "inforom_version"),
    leaf(1, "Image Version", "img_version", "inforom_image"),
    leaf(1, "OEM Object", "oem_object", "inforom_oem"),
    leaf(1, "ECC Object", "ecc_object", "inforom_ecc"),
    leaf(1, "Power Management Object", "pwr_object", "inforom_power"),
    section(0, "Inforom BBX Object Flush", "inforom_bbx_flush").since(535),
    leaf(1, "Latest Timestamp", "latest_timestamp", "inforom_flushed_unix_ms", date),
    leaf(1, "Latest Duration", "latest_duration", "inforom_flush_duration_microseconds",
         microseconds),
    section(0, "Inforom Time Data", "").since(610),
    leaf(1, "Time Run", "", "black_box_time_run_seconds", seconds),
    section(0, "GPU Operation Mode", "gpu_operation_mode"),
    leaf(1, "Current", "current_gom", "operation_mode"),
    leaf(1, "Pending", "pending_gom", "operation_mode_pending"),
    leaf(0, "GPU C2C Mode", "c2c_mode", "c2c_mode", enabled).since(550),
    leaf(0, "GSP Firmware Version", "gsp_firmware_version", "gsp_firmware_version")
        .upto(549)
        .about("GSP_FIRMWARE_VERSION"),
    section(0, "GPU Virtualization Mode", "gpu_virtualization_mode"),
    leaf(1, "Virtualization Mode", "virtualization_mode", "virtualization_mode"),
    leaf(1, "Host VGPU Mode", "host_vgpu_mode", "host_vgpu_mode"),
    leaf(1, "vGPU Heterogeneous Mode", "vgpu_heterogeneous_mode", "vgpu_heterogeneous_mode")
        .since(550),
    section(0, "vGPU Software Licensed Product", "vgpu_software_licensed_product")
        .only(When::licensed),
    leaf(1, "Product Name", "licensed_product_name", "vgpu_licensed_product"),
    leaf(1, "License Status", "license_status", "vgpu_license_status"),
    section(0, "GPU Reset Status", "gpu_reset_status").since(530).upto(579).about("RESET_STATUS"),
    leaf(1, "Reset Required", "reset_required", "reset_required", yes_no),
    leaf(1, "Drain and Reset Recommended", "drain_and_reset_recommended",
         "drain_and_reset_recommended", yes_no),
    leaf(0, "GPU Recovery Action", "gpu_recovery_action", "recovery_action").since(565),
    leaf(0, "GSP Firmware Version", "gsp_firmware_version", "gsp_firmware_version")
        .since(550)
        .about("GSP_FIRMWARE_VERSION"),
    section(0, "IBMNPU", "ibmnpu"),
    leaf(1, "Relaxed Ordering Mode", "relaxed_ordering_mode", "relaxed_ordering"),
    section(0, "PCI", "pci"),
    leaf(1, "Bus", "pci_bus", "pci_bus", pci_part),
    leaf(1, "Device", "pci_device", "pci_device", pci_part),
    leaf(1, "Domain", "pci_domain", "pci_domain", pci_domain),
    leaf(1, "Base Classcode", "pci_base_class", "pci_base_class", pci_class).since(550),
    leaf(1, "Sub Classcode", "pci_sub_class", "pci_sub_class", pci_class).since(550),
    leaf(1, "Device Id", "pci_device_id", "pci_id", pci_number),
    leaf(1, "Bus Id", "pci_bus_id", "pci_address", bus_id),
    leaf(1, "Sub System Id", "pci_sub_system_id", "pci_subsystem_id", pci_number),
    section(1, "GPU Link Info", "pci_gpu_link_info"),
    section(2, "PCIe Generation", "pcie_gen"),
    leaf(3, "Max", "max_link_gen", "pcie_generation_max", number),
    leaf(3, "Current", "current_link_gen", "pcie_generation", number),
    leaf(3, "Device Current", "device_current_link_gen", "pcie_generation", number).since(525),
    leaf(3, "Device Max", "max_device_link_gen", "pcie_generation_device_max", number).since(525),
    leaf(3, "Host Max", "max_host_link_gen", "pcie_generation_host_max", number).since(525),
    section(2, "Link Width", "link_widths"),
    leaf(3, "Max", "max_link_width", "pcie_width_max", width),
    leaf(3, "Current", "current_link_width", "pcie_width", width),
    section(1, "Bridge Chip", "pci_bridge_chip"),
    leaf(2, "Type", "bridge_chip_type", "bridge_chip_type"),
    leaf(2, "Firmware", "bridge_chip_fw", "bridge_chip_firmware"),
    leaf(1, "Replays Since Reset", "replay_counter", "pcie_replays", number),
    leaf(1, "Replay Number Rollovers", "replay_rollover_counter", "pcie_replay_rollovers", number),
    leaf(1, "Tx Throughput", "tx_util", "pcie_sent_rate_bytes_per_second", kilobytes_rate),
    leaf(1, "Rx Throughput", "rx_util", "pcie_received_rate_bytes_per_second", kilobytes_rate),
    leaf(1, "Atomic Caps Inbound", "atomic_caps_inbound", "pcie_atomics_inbound", words)
        .since(525)
        .upto(559),
    leaf(1, "Atomic Caps Outbound", "atomic_caps_outbound", "pcie_atomics_outbound", words)
        .since(525),
    leaf(1, "Atomic Caps Inbound", "atomic_caps_inbound", "pcie_atomics_inbound", words).since(560),
    leaf(0, "Fan Speed", "fan_speed", "fan_speed_percent", percent),
    leaf(0, "Performance State", "performance_state", "performance_state", performance_state)
        .about("PERFORMANCE"),
    section(0, "Clocks Event Reasons", "clocks_event_reasons", "throttle_reasons_mask")
        .before(535, "Clocks Throttle Reasons", "clocks_throttle_reasons")
        .about("PERFORMANCE"),
    leaf(1, "Idle", "clocks_event_reason_gpu_idle", "throttle_idle", active)
        .before(535, "Idle", "clocks_throttle_reason_gpu_idle"),
    leaf(1, "Applications Clocks Setting", "clocks_event_reason_applications_clocks_setting",
         "throttle_application_clocks", active)
        .before(535, "Applications Clocks Setting",
                "clocks_throttle_reason_applications_clocks_setting"),
    leaf(1, "SW Power Cap", "clocks_event_reason_sw_power_cap", "throttle_power_cap", active)
        .before(535, "SW Power Cap", "clocks_throttle_reason_sw_power_cap"),
    leaf(1, "HW Slowdown", "clocks_event_reason_hw_slowdown", "throttle_hardware", active)
        .before(535, "HW Slowdown", "clocks_throttle_reason_hw_slowdown"),
    leaf(2, "HW Thermal Slowdown", "clocks_event_reason_hw_thermal_slowdown",
         "throttle_hardware_thermal", active)
        .before(535, "HW Thermal Slowdown", "clocks_throttle_reason_hw_thermal_slowdown")
        .beside_in_xml(),
    leaf(2, "HW Power Brake Slowdown", "clocks_event_reason_hw_power_brake_slowdown",
         "throttle_power_brake", active)
        .before(535, "HW Power Brake Slowdown", "clocks_throttle_reason_hw_power_brake_slowdown")
        .beside_in_xml(),
    leaf(1, "Sync Boost", "clocks_event_reason_sync_boost", "throttle_sync_boost", active)
        .before(535, "Sync Boost", "clocks_throttle_reason_sync_boost"),
    leaf(1, "SW Thermal Slowdown", "clocks_event_reason_sw_thermal_slowdown",
         "throttle_software_thermal", active)
        .before(535, "SW Thermal Slowdown", "clocks_throttle_reason_sw_thermal_slowdown"),
    leaf(1, "Display Clock Setting", "clocks_event_reason_display_clocks_setting",
         "throttle_display", active)
        .before(535, "Display Clock Setting", "clocks_throttle_reason_display_clocks_setting"),
    section(0, "Clocks Event Reasons Counters", "clocks_event_reasons_counters")
        .since(575)
        .about("PERFORMANCE"),
    leaf(1, "SW Power Capping", "clocks_event_reasons_counters_sw_power_cap",
         "throttled_power_cap_microseconds", microseconds),
    leaf(1, "Sync Boost", "clocks_event_reasons_counters_sync_boost",
         "throttled_sync_boost_microseconds", microseconds),
    leaf(1, "SW Thermal Slowdown", "clocks_event_reasons_counters_sw_therm_slowdown",
         "throttled_software_thermal_microseconds", microseconds),
    leaf(1, "HW Thermal Slowdown", "clocks_event_reasons_counters_hw_therm_slowdown",
         "throttled_hardware_thermal_microseconds", microseconds),
    leaf(1, "HW Power Braking", "clocks_event_reasons_counters_hw_power_brake",
         "throttled_power_brake_microseconds", microseconds),
    leaf(0, "Sparse Operation Mode", "sparse_operation_mode", "sparse_operation_mode", enabled)
        .since(535)
        .about("PERFORMANCE"),
    section(0, "FB Memory Usage", "fb_memory_usage").about("MEMORY"),
    leaf(1, "Total", "total", "memory_total_bytes", memory),
    leaf(1, "Reserved", "reserved", "memory_reserved_bytes", memory).since(510),
    leaf(1, "Used", "used", "memory_used_bytes", memory),
    leaf(1, "Free", "free", "memory_free_bytes", memory),
    section(0, "BAR1 Memory Usage", "bar1_memory_usage").about("MEMORY"),
    leaf(1, "Total", "total", "bar1_total_bytes", memory),
    leaf(1, "Used", "used", "bar1_used_bytes", memory),
    leaf(1, "Free", "free", "bar1_free_bytes", memory),
    section(0, "Conf Compute Protected Memory Usage", "cc_protected_memory_usage")
        .since(535)
        .about("MEMORY"),
    leaf(1, "Total", "total", "protected_memory_total_bytes", memory),
    leaf(1, "Used", "used", "protected_memory_used_bytes", memory),
    leaf(1, "Free", "free", "protected_memory_free_bytes", memory),
    leaf(0, "Compute Mode", "compute_mode", "compute_mode").about("COMPUTE"),
    section(0, "Utilization", "utilization").about("UTILIZATION"),
    leaf(1, "GPU", "gpu_util", "utilization_gpu_percent", percent).before(570, "Gpu", "gpu_util"),
    leaf(1, "Memory", "memory_util", "utilization_memory_percent", percent),
    leaf(1, "Encoder", "encoder_util", "utilization_encoder_percent", percent),
    leaf(1, "Decoder", "decoder_util", "utilization_decoder_percent", percent),
    leaf(1, "JPEG", "jpeg_util", "utilization_jpeg_percent", percent).since(535),
    leaf(1, "OFA", "ofa_util", "utilization_optical_flow_percent", percent).since(535),
    section(0, "GPU Utilization Samples", "").sampled_only().about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_gpu_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_gpu_count", number),
    leaf(1, "Max", "", "samples_utilization_gpu_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_gpu_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_gpu_average_percent", percent),
    section(0, "Memory Utilization Samples", "").sampled_only().about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_memory_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_memory_count", number),
    leaf(1, "Max", "", "samples_utilization_memory_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_memory_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_memory_average_percent", percent),
    section(0, "ENC Utilization Samples", "").sampled_only().about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_encoder_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_encoder_count", number),
    leaf(1, "Max", "", "samples_utilization_encoder_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_encoder_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_encoder_average_percent", percent),
    section(0, "DEC Utilization Samples", "").sampled_only().about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_decoder_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_decoder_count", number),
    leaf(1, "Max", "", "samples_utilization_decoder_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_decoder_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_decoder_average_percent", percent),
    section(0, "JPG Utilization Samples", "").sampled_only().since(550).about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_jpeg_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_jpeg_count", number),
    leaf(1, "Max", "", "samples_utilization_jpeg_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_jpeg_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_jpeg_average_percent", percent),
    section(0, "OFA Utilization Samples", "").sampled_only().since(550).about("UTILIZATION"),
    leaf(1, "Duration", "", "samples_utilization_optical_flow_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_utilization_optical_flow_count", number),
    leaf(1, "Max", "", "samples_utilization_optical_flow_max_percent", percent),
    leaf(1, "Min", "", "samples_utilization_optical_flow_min_percent", percent),
    leaf(1, "Avg", "", "samples_utilization_optical_flow_average_percent", percent),
    section(0, "Encoder Stats", "encoder_stats").about("ENCODER_STATS"),
    leaf(1, "Active Sessions", "session_count", "encoder_sessions", number),
    leaf(1, "Average FPS", "average_fps", "encoder_fps", number),
    leaf(1, "Average Latency", "average_latency", "encoder_latency_microseconds", number),
    section(0, "FBC Stats", "fbc_stats").about("FBC_STATS"),
    leaf(1, "Active Sessions", "session_count", "capture_sessions", number),
    leaf(1, "Average FPS", "average_fps", "capture_fps", number),
    leaf(1, "Average Latency", "average_latency", "capture_latency_microseconds", number),
    section(0, "DRAM Encryption Mode", "dram_encryption_mode").since(570),
    leaf(1, "Current", "current_dram_encryption", "dram_encryption", enabled),
    leaf(1, "Pending", "pending_dram_encryption", "dram_encryption_pending", enabled),
    section(0, "ECC Mode", "ecc_mode").before(530, "Ecc Mode", "ecc_mode").about("ECC"),
    leaf(1, "Current", "current_ecc", "ecc_mode", enabled),
    leaf(1, "Pending", "pending_ecc", "ecc_mode_pending", enabled),
    section(0, "ECC Errors", "ecc_errors").about("ECC"),
    section(1, "Volatile", "volatile"),
    section(2, single_bit, "single_bit").only(When::ecc_by_place),
    leaf(3, "Device Memory", "device_memory", "ecc_corrected_volatile_dram", number),
    leaf(3, "Register File", "register_file", "ecc_corrected_volatile_register_file", number),
    leaf(3, "L1 Cache", "l1_cache", "ecc_corrected_volatile_l1_cache", number),
    leaf(3, "L2 Cache", "l2_cache", "ecc_corrected_volatile_l2_cache", number),
    leaf(3, "Texture Memory", "texture_memory", "ecc_corrected_volatile_texture", number),
    leaf(3, "Texture Shared", "texture_shm", "", number),
    leaf(3, "CBU", "cbu", "ecc_corrected_volatile_cbu", number),
    leaf(3, "Total", "total", "ecc_corrected_errors", number),
    section(2, double_bit, "double_bit").only(When::ecc_by_place),
    leaf(3, "Device Memory", "device_memory", "ecc_uncorrected_volatile_dram", number),
    leaf(3, "Register File", "register_file", "ecc_uncorrected_volatile_register_file", number),
    leaf(3, "L1 Cache", "l1_cache", "ecc_uncorrected_volatile_l1_cache", number),
    leaf(3, "L2 Cache", "l2_cache", "ecc_uncorrected_volatile_l2_cache", number),
    leaf(3, "Texture Memory", "texture_memory", "ecc_uncorrected_volatile_texture", number),
    leaf(3, "Texture Shared", "texture_shm", "", number),
    leaf(3, "CBU", "cbu", "ecc_uncorrected_volatile_cbu", number),
    leaf(3, "Total", "total", "ecc_uncorrected_errors", number),
    leaf(2, "SRAM Correctable", "sram_correctable", "ecc_corrected_volatile_sram", number)
        .only(When::ecc_simple),
    leaf(2, "SRAM Correctable", "sram_correctable", "ecc_corrected_volatile_sram", number)
        .only(When::ecc_detailed),
    leaf(2, "SRAM Uncorrectable", "sram_uncorrectable", "ecc_uncorrected_volatile_sram", number)
        .only(When::ecc_simple),
    leaf(2, "SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "ecc_sram_parity_volatile",
         number)
        .only(When::ecc_detailed),
    leaf(2, "SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", "ecc_sram_secded_volatile",
         number)
        .only(When::ecc_detailed),
    leaf(2, "DRAM Correctable", "dram_correctable", "ecc_corrected_volatile_dram", number)
        .only(When::ecc_simple),
    leaf(2, "DRAM Uncorrectable", "dram_uncorrectable", "ecc_uncorrected_volatile_dram", number)
        .only(When::ecc_simple),
    leaf(2, "DRAM Correctable", "dram_correctable", "ecc_corrected_volatile_dram", number)
        .only(When::ecc_detailed),
    leaf(2, "DRAM Uncorrectable", "dram_uncorrectable", "ecc_uncorrected_volatile_dram", number)
        .only(When::ecc_detailed),
    section(1, "Aggregate", "aggregate"),
    section(2, single_bit, "single_bit").only(When::ecc_by_place),
    leaf(3, "Device Memory", "device_memory", "ecc_corrected_aggregate_dram", number),
    leaf(3, "Register File", "register_file", "ecc_corrected_aggregate_register_file", number),
    leaf(3, "L1 Cache", "l1_cache", "ecc_corrected_aggregate_l1_cache", number),
    leaf(3, "L2 Cache", "l2_cache", "ecc_corrected_aggregate_l2_cache", number),
    leaf(3, "Texture Memory", "texture_memory", "ecc_corrected_aggregate_texture", number),
    leaf(3, "Texture Shared", "texture_shm", "", number),
    leaf(3, "CBU", "cbu", "ecc_corrected_aggregate_cbu", number),
    leaf(3, "Total", "total", "ecc_corrected_aggregate_total", number),
    section(2, double_bit, "double_bit").only(When::ecc_by_place),
    leaf(3, "Device Memory", "device_memory", "ecc_uncorrected_aggregate_dram", number),
    leaf(3, "Register File", "register_file", "ecc_uncorrected_aggregate_register_file", number),
    leaf(3, "L1 Cache", "l1_cache", "ecc_uncorrected_aggregate_l1_cache", number),
    leaf(3, "L2 Cache", "l2_cache", "ecc_uncorrected_aggregate_l2_cache", number),
    leaf(3, "Texture Memory", "texture_memory", "ecc_uncorrected_aggregate_texture", number),
    leaf(3, "Texture Shared", "texture_shm", "", number),
    leaf(3, "CBU", "cbu", "ecc_uncorrected_aggregate_cbu", number),
    leaf(3, "Total", "total", "ecc_uncorrected_aggregate_total", number),
    leaf(2, "SRAM Correctable", "sram_correctable", "ecc_corrected_aggregate_sram", number)
        .only(When::ecc_simple),
    leaf(2, "SRAM Correctable", "sram_correctable", "ecc_corrected_aggregate_sram", number)
        .only(When::ecc_detailed),
    leaf(2, "SRAM Uncorrectable", "sram_uncorrectable", "ecc_uncorrected_aggregate_sram", number)
        .only(When::ecc_simple),
    leaf(2, "SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "ecc_sram_parity_aggregate",
         number)
        .only(When::ecc_detailed),
    leaf(2, "SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", "ecc_sram_secded_aggregate",
         number)
        .only(When::ecc_detailed),
    leaf(2, "DRAM Correctable", "dram_correctable", "ecc_corrected_aggregate_dram", number)
        .only(When::ecc_simple),
    leaf(2, "DRAM Uncorrectable", "dram_uncorrectable", "ecc_uncorrected_aggregate_dram", number)
        .only(When::ecc_simple),
    leaf(2, "DRAM Correctable", "dram_correctable", "ecc_corrected_aggregate_dram", number)
        .only(When::ecc_detailed),
    leaf(2, "DRAM Uncorrectable", "dram_uncorrectable", "ecc_uncorrected_aggregate_dram", number)
        .only(When::ecc_detailed),
    leaf(2, "SRAM Threshold Exceeded", "sram_threshold_exceeded", "ecc_sram_threshold_exceeded",
         yes_no)
        .only(When::ecc_detailed),
    section(1, "Aggregate Uncorrectable SRAM Sources", "aggregate_uncorrectable_sram_sources")
        .only(When::ecc_detailed),
    leaf(2, "SRAM L2", "sram_l2", "ecc_sram_source_l2", number),
    leaf(2, "SRAM SM", "sram_sm", "ecc_sram_source_sm", number),
    leaf(2, "SRAM Microcontroller", "sram_microcontroller", "ecc_sram_source_microcontroller",
         number),
    leaf(2, "SRAM PCIE", "sram_pcie", "ecc_sram_source_pcie", number),
    leaf(2, "SRAM Other", "sram_other", "ecc_sram_source_other", number),
    leaf(1, "Channel Repair Pending", "channel_repair_pending", "channel_repair_pending", yes_no)
        .since(580)
        .only(When::ecc_detailed),
    leaf(1, "TPC Repair Pending", "tpc_repair_pending", "tpc_repair_pending", yes_no)
        .since(580)
        .only(When::ecc_detailed),
    leaf(1, "Unrepairable Memory", "unrepairable_memory", "unrepairable_memory", yes_no)
        .since(590)
        .also_in(580)
        .only(When::ecc_detailed),
    special(Special::retired_pages, "Retired Pages", "retired_pages").about("PAGE_RETIREMENT"),
    leaf(1, "Single Bit ECC", "", "retired_pages_single_bit", number),
    leaf(1, "Double Bit ECC", "", "retired_pages_double_bit", number),
    leaf(1, "Pending Page Blacklist", "pending_blacklist", "retired_pages_pending", yes_no),
    leaf(1, "", "pending_retirement", "retired_pages_pending", yes_no),
    section(0, "Remapped Rows", "remapped_rows", "remapped_rows_correctable").about("ROW_REMAPPER"),
    leaf(1, "Correctable Error", "remapped_row_corr", "remapped_rows_correctable", number),
    leaf(1, "Inactive Correctable Error", "remapped_row_corr_inactive",
         "remapped_rows_correctable_inactive", number)
        .since(595)
        .also_in(580),
    leaf(1, "Uncorrectable Error", "remapped_row_unc", "remapped_rows_uncorrectable", number),
    leaf(1, "Inactive Uncorrectable Error", "remapped_row_unc_inactive",
         "remapped_rows_uncorrectable_inactive", number)
        .since(595)
        .also_in(580),
    leaf(1, "Pending", "remapped_row_pending", "remapped_rows_pending", yes_no),
    leaf(1, "Remapping Failure Occurred", "remapped_row_failure", "remapped_rows_failed", yes_no),
    section(1, "Bank Remap Availability Histogram", "row_remapper_histogram", "remap_banks_max"),
    leaf(2, "Max", "row_remapper_histogram_max", "remap_banks_max", banks),
    leaf(2, "High", "row_remapper_histogram_high", "remap_banks_high", banks),
    leaf(2, "Partial", "row_remapper_histogram_partial", "remap_banks_partial", banks),
    leaf(2, "Low", "row_remapper_histogram_low", "remap_banks_low", banks),
    leaf(2, "None", "row_remapper_histogram_none", "remap_banks_none", banks),
    section(0, "Temperature", "temperature").about("TEMPERATURE"),
    leaf(1, "GPU Current Temp", "gpu_temp", "temperature_celsius", celsius),
    leaf(1, "GPU T.Limit Temp", "gpu_temp_tlimit", "temperature_limit_margin_celsius", celsius)
        .since(525)
        .upto(534)
        .only(When::margin_told),
    leaf(1, "GPU Current T.Limit Temp", "gpu_temp_tlimit", "temperature_limit_margin_celsius",
         celsius)
        .since(535)
        .before(610, "GPU T.Limit Temp", "gpu_temp_tlimit"),
    leaf(1, "GPU Shutdown Temp", "gpu_temp_max_threshold", "temperature_shutdown_celsius", celsius)
        .only(When::no_margins),
    leaf(1, "GPU Shutdown T.Limit Temp Specification", "gpu_temp_max_tlimit_threshold",
         "temperature_shutdown_margin_celsius", celsius)
        .before(610, "GPU Shutdown T.Limit Temp", "gpu_temp_max_tlimit_threshold")
        .only(When::margins),
    leaf(1, "GPU Slowdown Temp", "gpu_temp_slow_threshold", "temperature_slowdown_celsius", celsius)
        .only(When::no_margins),
    leaf(1, "GPU Slowdown T.Limit Temp Specification", "gpu_temp_slow_tlimit_threshold",
         "temperature_slowdown_margin_celsius", celsius)
        .before(610, "GPU Slowdown T.Limit Temp", "gpu_temp_slow_tlimit_threshold")
        .only(When::margins),
    leaf(1, "GPU Max Operating Temp", "gpu_temp_max_gpu_threshold",
         "temperature_max_operating_celsius", celsius)
        .only(When::no_margins),
    leaf(1, "GPU Max Operating T.Limit Temp Specification", "gpu_temp_max_gpu_tlimit_threshold",
         "temperature_max_operating_margin_celsius", celsius)
        .before(610, "GPU Max Operating T.Limit Temp", "gpu_temp_max_gpu_tlimit_threshold")
        .only(When::margins),
    leaf(1, "GPU Target Temperature Specification", "gpu_target_temperature",
         "temperature_target_celsius", celsius)
        .before(610, "GPU Target Temperature", "gpu_target_temperature"),
    leaf(1, "Memory Current Temp", "memory_temp", "temperature_memory_celsius", celsius),
    leaf(1, "Memory Max Operating Temp", "gpu_temp_max_mem_threshold",
         "temperature_memory_max_operating_celsius", celsius)
        .only(When::no_margins),
    leaf(1, "Memory Max Operating T.Limit Temp", "gpu_temp_max_mem_tlimit_threshold",
         "temperature_memory_margin_celsius", celsius)
        .only(When::margins),
    section(0, "", "supported_gpu_target_temp"),
    leaf(1, "", "gpu_target_temp_min", "temperature_target_min_celsius", celsius),
    leaf(1, "", "gpu_target_temp_max", "temperature_target_max_celsius", celsius),
    section(0, "Supported GPU_TARGET_TEMP", "").sampled_only().about("SUPPORTED_GPU_TARGET_TEMP"),
    leaf(1, "Min", "", "temperature_target_min_celsius", celsius),
    leaf(1, "Max", "", "temperature_target_max_celsius", celsius),
});

}  // namespace berth::smi::rows
