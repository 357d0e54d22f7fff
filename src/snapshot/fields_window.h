#pragma once
// Rows of the field table: NVLink, and what happened between two looks. Internal to fields.cc.

#include <array>

#include "snapshot/detail_row.h"

namespace berth::field_rows {

using enum Unit;

constexpr auto window_details = std::to_array<Field>({
    detail<Detail::nvlink_count, std::uint64_t>("nvlink_count", "", count, "NVLinks of the device.",
                                                "berth_device_nvlinks"),
    detail<Detail::nvlink_active, std::uint64_t>("nvlink_active", "", count,
                                                 "NVLinks of the device that are up.",
                                                 "berth_device_nvlinks_active"),
    detail<Detail::nvlink_flit_errors, std::uint64_t>(
        "nvlink_flit_errors", "", count, "Checksum errors of flow control on all NVLinks.",
        "berth_device_nvlink_errors_total{kind=\"flit_checksum\"}"),
    detail<Detail::nvlink_data_errors, std::uint64_t>(
        "nvlink_data_errors", "", count, "Checksum errors of data on all NVLinks.",
        "berth_device_nvlink_errors_total{kind=\"data_checksum\"}"),
    detail<Detail::nvlink_replays, std::uint64_t>(
        "nvlink_replays", "", count, "NVLink packets that had to be sent again.",
        "berth_device_nvlink_errors_total{kind=\"replay\"}"),
    detail<Detail::nvlink_recoveries, std::uint64_t>(
        "nvlink_recoveries", "", count, "Times an NVLink had to be set up again.",
        "berth_device_nvlink_errors_total{kind=\"recovery\"}"),
    detail<Detail::nvlink_ecc_errors, std::uint64_t>(
        "nvlink_ecc_errors", "", count, "Memory errors in the data path of all NVLinks.",
        "berth_device_nvlink_errors_total{kind=\"ecc\"}"),
    detail<Detail::nvlink_sent_rate, BytesPerSecond>(
        "nvlink_sent_rate_bytes_per_second", "", bytes_per_second,
        "Payload sent over all NVLinks since the look before.",
        "berth_device_nvlink_sent_bytes_per_second"),
    detail<Detail::nvlink_received_rate, BytesPerSecond>(
        "nvlink_received_rate_bytes_per_second", "", bytes_per_second,
        "Payload received over all NVLinks since the look before.",
        "berth_device_nvlink_received_bytes_per_second"),
    detail<Detail::activity_graphics, Percent>(
        "activity_graphics_percent", "", percent,
        "Share of time in which any graphics or compute ran.",
        "berth_device_graphics_activity_ratio"),
    detail<Detail::activity_sm, Percent>("activity_sm_percent", "", percent,
                                         "Share of SMs that were busy.",
                                         "berth_device_sm_activity_ratio"),
    detail<Detail::activity_occupancy, Percent>(
        "activity_occupancy_percent", "", percent,
        "Share of the warps that could be active that were.", "berth_device_sm_occupancy_ratio"),
    detail<Detail::activity_integer, Percent>("activity_integer_percent", "", percent,
                                              "Share of time in which SMs did integer work.",
                                              "berth_device_integer_activity_ratio"),
    detail<Detail::activity_tensor, Percent>("activity_tensor_percent", "", percent,
                                             "Share of time in which tensor cores worked.",
                                             "berth_device_tensor_activity_ratio"),
    detail<Detail::activity_dram, Percent>("activity_dram_percent", "", percent,
                                           "Share of the memory bandwidth used.",
                                           "berth_device_dram_activity_ratio"),
    detail<Detail::activity_fp64, Percent>("activity_fp64_percent", "", percent,
                                           "Share of time in which SMs did 64-bit floating point.",
                                           "berth_device_fp64_activity_ratio"),
    detail<Detail::activity_fp32, Percent>("activity_fp32_percent", "", percent,
                                           "Share of time in which SMs did 32-bit floating point.",
                                           "berth_device_fp32_activity_ratio"),
    detail<Detail::activity_fp16, Percent>("activity_fp16_percent", "", percent,
                                           "Share of time in which SMs did 16-bit floating point.",
                                           "berth_device_fp16_activity_ratio"),
    detail<Detail::window_power_count, std::uint64_t>(
        "window_power_count", "", count, "Samples of power since the look before.", ""),
    detail<Detail::window_power_min, Milliwatts>(
        "window_power_min_milliwatts", "", milliwatts, "Lowest power since the look before.",
        "berth_device_look_power_watts{statistic=\"min\"}"),
    detail<Detail::window_power_mean, Milliwatts>(
        "window_power_mean_milliwatts", "", milliwatts, "Mean power since the look before.",
        "berth_device_look_power_watts{statistic=\"mean\"}"),
    detail<Detail::window_power_p95, Milliwatts>(
        "window_power_p95_milliwatts", "", milliwatts,
        "95th percentile power since the look before.",
        "berth_device_look_power_watts{statistic=\"p95\"}"),
    detail<Detail::window_power_max, Milliwatts>(
        "window_power_max_milliwatts", "", milliwatts, "Highest power since the look before.",
        "berth_device_look_power_watts{statistic=\"max\"}"),
    detail<Detail::window_utilization_gpu_count, std::uint64_t>(
        "window_utilization_gpu_count", "", count, "Samples of utilisation since the look before.",
        ""),
    detail<Detail::window_utilization_gpu_min, Percent>(
        "window_utilization_gpu_min_percent", "", percent,
        "Lowest utilisation since the look before.",
        "berth_device_look_utilization_ratio{statistic=\"min\"}"),
    detail<Detail::window_utilization_gpu_mean, Percent>(
        "window_utilization_gpu_mean_percent", "", percent,
        "Mean utilisation since the look before.",
        "berth_device_look_utilization_ratio{statistic=\"mean\"}"),
    detail<Detail::window_utilization_gpu_p95, Percent>(
        "window_utilization_gpu_p95_percent", "", percent,
        "95th percentile utilisation since the look before.",
        "berth_device_look_utilization_ratio{statistic=\"p95\"}"),
    detail<Detail::window_utilization_gpu_max, Percent>(
        "window_utilization_gpu_max_percent", "", percent,
        "Highest utilisation since the look before.",
        "berth_device_look_utilization_ratio{statistic=\"max\"}"),
    detail<Detail::window_utilization_memory_count, std::uint64_t>(
        "window_utilization_memory_count", "", count,
        "Samples of memory utilisation since the look before.", ""),
    detail<Detail::window_utilization_memory_min, Percent>(
        "window_utilization_memory_min_percent", "", percent,
        "Lowest memory utilisation since the look before.",
        "berth_device_look_memory_utilization_ratio{statistic=\"min\"}"),
    detail<Detail::window_utilization_memory_mean, Percent>(
        "window_utilization_memory_mean_percent", "", percent,
        "Mean memory utilisation since the look before.",
        "berth_device_look_memory_utilization_ratio{statistic=\"mean\"}"),
    detail<Detail::window_utilization_memory_p95, Percent>(
        "window_utilization_memory_p95_percent", "", percent,
        "95th percentile memory utilisation since the look before.",
        "berth_device_look_memory_utilization_ratio{statistic=\"p95\"}"),
    detail<Detail::window_utilization_memory_max, Percent>(
        "window_utilization_memory_max_percent", "", percent,
        "Highest memory utilisation since the look before.",
        "berth_device_look_memory_utilization_ratio{statistic=\"max\"}"),
    detail<Detail::window_throttled_power_cap, Microseconds>(
        "window_throttled_power_cap_microseconds", "", microseconds,
        "Time the power limit held it back since the look before.", ""),
    detail<Detail::window_throttled_sync_boost, Microseconds>(
        "window_throttled_sync_boost_microseconds", "", microseconds,
        "Time a slower device of its group held it back since the look before.", ""),
    detail<Detail::window_throttled_software_thermal, Microseconds>(
        "window_throttled_software_thermal_microseconds", "", microseconds,
        "Time the driver slowed it down for its heat since the look before.", ""),
    detail<Detail::window_throttled_hardware_thermal, Microseconds>(
        "window_throttled_hardware_thermal_microseconds", "", microseconds,
        "Time the chip slowed itself down for its heat since the look before.", ""),
    detail<Detail::window_throttled_power_brake, Microseconds>(
        "window_throttled_power_brake_microseconds", "", microseconds,
        "Time the power supply held it back since the look before.", ""),
    detail<Detail::window_nvlink_flit_errors, std::uint64_t>(
        "window_nvlink_flit_errors", "", count,
        "Checksum errors of flow control on all NVLinks since the look before.", ""),
    detail<Detail::window_nvlink_data_errors, std::uint64_t>(
        "window_nvlink_data_errors", "", count,
        "Checksum errors of data on all NVLinks since the look before.", ""),
    detail<Detail::window_nvlink_replays, std::uint64_t>(
        "window_nvlink_replays", "", count,
        "NVLink packets that had to be sent again since the look before.", ""),
    detail<Detail::window_nvlink_recoveries, std::uint64_t>(
        "window_nvlink_recoveries", "", count,
        "Times an NVLink had to be set up again since the look before.", ""),
    detail<Detail::window_nvlink_ecc_errors, std::uint64_t>(
        "window_nvlink_ecc_errors", "", count,
        "Memory errors in the data path of all NVLinks since the look before.", ""),
    detail<Detail::window_span, Milliseconds>("window_span_milliseconds", "", milliseconds,
                                              "How long ago the look before was.", ""),
});

}  // namespace berth::field_rows
