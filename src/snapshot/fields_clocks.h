#pragma once
// Rows of the field table: clocks, fabric and the samples of the driver. Internal to fields.cc.

#include <array>

#include "snapshot/detail_row.h"

namespace berth::field_rows {

using enum Unit;

constexpr auto clock_details = std::to_array<Field>({
    detail<Detail::clock_video, Megahertz>("clock_video_megahertz", "clocks.current.video",
                                           megahertz, "Clock of the video engines.",
                                           "berth_device_video_clock_hertz"),
    detail<Detail::clock_video_max, Megahertz>("clock_video_max_megahertz", "", megahertz,
                                               "Highest clock of the video engines.", ""),
    detail<Detail::clock_application_graphics, Megahertz>(
        "clock_application_graphics_megahertz", "clocks.applications.graphics", megahertz,
        "Graphics clock asked for by an administrator.", ""),
    detail<Detail::clock_application_memory, Megahertz>(
        "clock_application_memory_megahertz", "clocks.applications.memory", megahertz,
        "Memory clock asked for by an administrator.", ""),
    detail<Detail::clock_default_graphics, Megahertz>(
        "clock_default_graphics_megahertz", "clocks.default_applications.graphics", megahertz,
        "Graphics clock when nobody asked for one.", ""),
    detail<Detail::clock_default_memory, Megahertz>("clock_default_memory_megahertz",
                                                    "clocks.default_applications.memory", megahertz,
                                                    "Memory clock when nobody asked for one.", ""),
    detail<Detail::clock_deferred_memory, Megahertz>(
        "clock_deferred_memory_megahertz", "", megahertz,
        "Memory clock from the next start of the driver.", ""),
    detail<Detail::clock_customer_boost, Megahertz>("clock_customer_boost_megahertz", "", megahertz,
                                                    "Highest graphics clock a customer may set.",
                                                    ""),
    detail<Detail::voltage_graphics, Millivolts>("voltage_graphics_millivolts", "", millivolts,
                                                 "Voltage of the chip; drivers before 580.",
                                                 "berth_device_voltage_volts"),
    detail<Detail::fabric_state, std::string>(
        "fabric_state", "fabric.state", none,
        "Registration with the NVLink fabric: Not Started, In Progress, Completed.", ""),
    detail<Detail::fabric_status, std::string>("fabric_status", "fabric.status", none,
                                               "How the registration ended.", ""),
    detail<Detail::fabric_clique, std::uint64_t>(
        "fabric_clique", "fabric.cliqueId", count,
        "Clique of devices that reach each other by NVLink.", ""),
    detail<Detail::fabric_cluster, std::string>("fabric_cluster", "fabric.clusterUuid", none,
                                                "Identity of the NVLink cluster.", ""),
    detail<Detail::fabric_health_summary, std::string>("fabric_health_summary",
                                                       "fabric.health.summary", none,
                                                       "Health of its place in the fabric.", ""),
    detail<Detail::fabric_health_bandwidth, std::string>(
        "fabric_health_bandwidth", "fabric.health.bandwidth", none,
        "Whether its fabric bandwidth is full or degraded.", ""),
    detail<Detail::fabric_health_route_recovery, std::string>(
        "fabric_health_route_recovery", "fabric.health.route_recovery_in_progress", none,
        "Whether fabric routes are being recovered.", ""),
    detail<Detail::fabric_health_route_unhealthy, std::string>(
        "fabric_health_route_unhealthy", "fabric.health.route_unhealthy", none,
        "Whether fabric routes are unhealthy.", ""),
    detail<Detail::fabric_health_access_timeout, std::string>(
        "fabric_health_access_timeout", "fabric.health.access_timeout_recovery", none,
        "Whether access time-outs are being recovered.", ""),
    detail<Detail::fabric_health_configuration, std::string>(
        "fabric_health_configuration", "fabric.health.incorrect_configuration", none,
        "What is wrong with the fabric's configuration.", ""),
    detail<Detail::fabric_health_partition, std::string>(
        "fabric_health_partition", "fabric.health.partition_assigned", none,
        "Whether a fabric partition is assigned.", ""),
    detail<Detail::samples_power_span, Milliseconds>(
        "samples_power_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of power.", ""),
    detail<Detail::samples_power_count, std::uint64_t>("samples_power_count", "", count,
                                                       "The driver's samples of power.", ""),
    detail<Detail::samples_power_max, Milliwatts>("samples_power_max_milliwatts", "", milliwatts,
                                                  "Highest of the driver's samples of power.", ""),
    detail<Detail::samples_power_min, Milliwatts>("samples_power_min_milliwatts", "", milliwatts,
                                                  "Lowest of the driver's samples of power.", ""),
    detail<Detail::samples_power_average, Milliwatts>("samples_power_average_milliwatts", "",
                                                      milliwatts,
                                                      "Mean of the driver's samples of power.", ""),
    detail<Detail::samples_utilization_gpu_span, Milliseconds>(
        "samples_utilization_gpu_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of utilisation.", ""),
    detail<Detail::samples_utilization_gpu_count, std::uint64_t>(
        "samples_utilization_gpu_count", "", count, "The driver's samples of utilisation.", ""),
    detail<Detail::samples_utilization_gpu_max, Percent>(
        "samples_utilization_gpu_max_percent", "", percent,
        "Highest of the driver's samples of utilisation.", ""),
    detail<Detail::samples_utilization_gpu_min, Percent>(
        "samples_utilization_gpu_min_percent", "", percent,
        "Lowest of the driver's samples of utilisation.", ""),
    detail<Detail::samples_utilization_gpu_average, Percent>(
        "samples_utilization_gpu_average_percent", "", percent,
        "Mean of the driver's samples of utilisation.", ""),
    detail<Detail::samples_utilization_memory_span, Milliseconds>(
        "samples_utilization_memory_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of memory utilisation.", ""),
    detail<Detail::samples_utilization_memory_count, std::uint64_t>(
        "samples_utilization_memory_count", "", count,
        "The driver's samples of memory utilisation.", ""),
    detail<Detail::samples_utilization_memory_max, Percent>(
        "samples_utilization_memory_max_percent", "", percent,
        "Highest of the driver's samples of memory utilisation.", ""),
    detail<Detail::samples_utilization_memory_min, Percent>(
        "samples_utilization_memory_min_percent", "", percent,
        "Lowest of the driver's samples of memory utilisation.", ""),
    detail<Detail::samples_utilization_memory_average, Percent>(
        "samples_utilization_memory_average_percent", "", percent,
        "Mean of the driver's samples of memory utilisation.", ""),
    detail<Detail::samples_utilization_encoder_span, Milliseconds>(
        "samples_utilization_encoder_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of encoder utilisation.", ""),
    detail<Detail::samples_utilization_encoder_count, std::uint64_t>(
        "samples_utilization_encoder_count", "", count,
        "The driver's samples of encoder utilisation.", ""),
    detail<Detail::samples_utilization_encoder_max, Percent>(
        "samples_utilization_encoder_max_percent", "", percent,
        "Highest of the driver's samples of encoder utilisation.", ""),
    detail<Detail::samples_utilization_encoder_min, Percent>(
        "samples_utilization_encoder_min_percent", "", percent,
        "Lowest of the driver's samples of encoder utilisation.", ""),
    detail<Detail::samples_utilization_encoder_average, Percent>(
        "samples_utilization_encoder_average_percent", "", percent,
        "Mean of the driver's samples of encoder utilisation.", ""),
    detail<Detail::samples_utilization_decoder_span, Milliseconds>(
        "samples_utilization_decoder_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of decoder utilisation.", ""),
    detail<Detail::samples_utilization_decoder_count, std::uint64_t>(
        "samples_utilization_decoder_count", "", count,
        "The driver's samples of decoder utilisation.", ""),
    detail<Detail::samples_utilization_decoder_max, Percent>(
        "samples_utilization_decoder_max_percent", "", percent,
        "Highest of the driver's samples of decoder utilisation.", ""),
    detail<Detail::samples_utilization_decoder_min, Percent>(
        "samples_utilization_decoder_min_percent", "", percent,
        "Lowest of the driver's samples of decoder utilisation.", ""),
    detail<Detail::samples_utilization_decoder_average, Percent>(
        "samples_utilization_decoder_average_percent", "", percent,
        "Mean of the driver's samples of decoder utilisation.", ""),
    detail<Detail::samples_utilization_jpeg_span, Milliseconds>(
        "samples_utilization_jpeg_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of JPEG utilisation.", ""),
    detail<Detail::samples_utilization_jpeg_count, std::uint64_t>(
        "samples_utilization_jpeg_count", "", count, "The driver's samples of JPEG utilisation.",
        ""),
    detail<Detail::samples_utilization_jpeg_max, Percent>(
        "samples_utilization_jpeg_max_percent", "", percent,
        "Highest of the driver's samples of JPEG utilisation.", ""),
    detail<Detail::samples_utilization_jpeg_min, Percent>(
        "samples_utilization_jpeg_min_percent", "", percent,
        "Lowest of the driver's samples of JPEG utilisation.", ""),
    detail<Detail::samples_utilization_jpeg_average, Percent>(
        "samples_utilization_jpeg_average_percent", "", percent,
        "Mean of the driver's samples of JPEG utilisation.", ""),
    detail<Detail::samples_utilization_optical_flow_span, Milliseconds>(
        "samples_utilization_optical_flow_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of optical flow utilisation.", ""),
    detail<Detail::samples_utilization_optical_flow_count, std::uint64_t>(
        "samples_utilization_optical_flow_count", "", count,
        "The driver's samples of optical flow utilisation.", ""),
    detail<Detail::samples_utilization_optical_flow_max, Percent>(
        "samples_utilization_optical_flow_max_percent", "", percent,
        "Highest of the driver's samples of optical flow utilisation.", ""),
    detail<Detail::samples_utilization_optical_flow_min, Percent>(
        "samples_utilization_optical_flow_min_percent", "", percent,
        "Lowest of the driver's samples of optical flow utilisation.", ""),
    detail<Detail::samples_utilization_optical_flow_average, Percent>(
        "samples_utilization_optical_flow_average_percent", "", percent,
        "Mean of the driver's samples of optical flow utilisation.", ""),
    detail<Detail::samples_clock_sm_span, Milliseconds>(
        "samples_clock_sm_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of SM clock.", ""),
    detail<Detail::samples_clock_sm_count, std::uint64_t>("samples_clock_sm_count", "", count,
                                                          "The driver's samples of SM clock.", ""),
    detail<Detail::samples_clock_sm_max, Megahertz>("samples_clock_sm_max_megahertz", "", megahertz,
                                                    "Highest of the driver's samples of SM clock.",
                                                    ""),
    detail<Detail::samples_clock_sm_min, Megahertz>("samples_clock_sm_min_megahertz", "", megahertz,
                                                    "Lowest of the driver's samples of SM clock.",
                                                    ""),
    detail<Detail::samples_clock_sm_average, Megahertz>(
        "samples_clock_sm_average_megahertz", "", megahertz,
        "Mean of the driver's samples of SM clock.", ""),
    detail<Detail::samples_clock_memory_span, Milliseconds>(
        "samples_clock_memory_span_milliseconds", "", milliseconds,
        "Time covered by the driver's samples of memory clock.", ""),
    detail<Detail::samples_clock_memory_count, std::uint64_t>(
        "samples_clock_memory_count", "", count, "The driver's samples of memory clock.", ""),
    detail<Detail::samples_clock_memory_max, Megahertz>(
        "samples_clock_memory_max_megahertz", "", megahertz,
        "Highest of the driver's samples of memory clock.", ""),
    detail<Detail::samples_clock_memory_min, Megahertz>(
        "samples_clock_memory_min_megahertz", "", megahertz,
        "Lowest of the driver's samples of memory clock.", ""),
    detail<Detail::samples_clock_memory_average, Megahertz>(
        "samples_clock_memory_average_megahertz", "", megahertz,
        "Mean of the driver's samples of memory clock.", ""),
});

}  // namespace berth::field_rows
