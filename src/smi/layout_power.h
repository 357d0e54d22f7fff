#pragma once
// Rows of the layout of -q: power, clocks, fabric, processes. Internal to the layout.

#include <array>

#include "smi/layout.h"

namespace berth::smi::rows {

using enum Format;

// Drivers of branch 550 tell average and moment apart from 550.163 on; 550.127 and 555.58 do not.
constexpr auto power_rows = std::to_array<LayoutRow>({
    section(0, "Power Readings", "power_readings").upto(534).about("POWER"),
    leaf(1, "", "power_state", "power_state", performance_state),
    leaf(1, "Power Management", "power_management", "power_management"),
    leaf(1, "Power Draw", "power_draw", "power_draw_milliwatts", watts),
    leaf(1, "Power Limit", "power_limit", "power_limit_requested_milliwatts", watts),
    leaf(1, "Default Power Limit", "default_power_limit", "power_limit_default_milliwatts", watts),
    leaf(1, "Enforced Power Limit", "enforced_power_limit", "power_limit_milliwatts", watts),
    leaf(1, "Min Power Limit", "min_power_limit", "power_limit_min_milliwatts", watts),
    leaf(1, "Max Power Limit", "max_power_limit", "power_limit_max_milliwatts", watts),
    section(0, "GPU Power Readings", "gpu_power_readings").since(535).about("POWER"),
    leaf(1, "", "power_state", "power_state", performance_state),
    leaf(1, "Power Draw", "power_draw", "power_draw_milliwatts", watts).upto(569).not_in(550, 163),
    leaf(1, "Average Power Draw", "average_power_draw", "power_draw_average_milliwatts", watts)
        .since(570)
        .also_in(550, 163),
    leaf(1, "Instantaneous Power Draw", "instant_power_draw", "power_draw_instant_milliwatts",
         watts)
        .since(570)
        .also_in(550, 163),
    leaf(1, "Current Power Limit", "current_power_limit", "power_limit_milliwatts", watts)
        .upto(609),
    leaf(1, "Requested Power Limit", "requested_power_limit", "power_limit_requested_milliwatts",
         watts)
        .upto(609),
    leaf(1, "Default Power Limit", "default_power_limit", "power_limit_default_milliwatts", watts)
        .upto(609),
    leaf(1, "", "current_power_limit", "power_limit_milliwatts", watts).since(610),
    leaf(1, "", "requested_power_limit", "power_limit_requested_milliwatts", watts).since(610),
    leaf(1, "", "default_power_limit", "power_limit_default_milliwatts", watts).since(610),
    section(1, "GPU Ceiling Power Limit", "gpu_ceiling_power_limit").since(610),
    leaf(2, "Current Power Limit", "current_power_limit", "power_limit_milliwatts", watts),
    leaf(2, "Requested Power Limit", "requested_power_limit", "power_limit_requested_milliwatts",
         watts),
    leaf(2, "Default Power Limit", "default_power_limit", "power_limit_default_milliwatts", watts),
    section(1, "GPU Base Power", "gpu_base_power").since(610),
    leaf(2, "Current Base Power", "current_base_power", "base_power_current_milliwatts", watts),
    leaf(2, "Requested Base Power", "requested_base_power", "base_power_requested_milliwatts",
         watts),
    leaf(2, "Default Base Power", "default_base_power", "base_power_default_milliwatts", watts),
    leaf(1, "Min Power Limit", "min_power_limit", "power_limit_min_milliwatts", watts),
    leaf(1, "Max Power Limit", "max_power_limit", "power_limit_max_milliwatts", watts),
    section(0, "Power Samples", "").sampled_only().about("POWER"),
    leaf(1, "Duration", "", "samples_power_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_power_count", number),
    leaf(1, "Max", "", "samples_power_max_milliwatts", watts),
    leaf(1, "Min", "", "samples_power_min_milliwatts", watts),
    leaf(1, "Avg", "", "samples_power_average_milliwatts", watts),
    section(0, "GPU Memory Power Readings ", "gpu_memory_power_readings").since(550).about("POWER"),
    leaf(1, "Power Draw", "power_draw", "power_memory_average_milliwatts", watts)
        .upto(569)
        .not_in(550, 163),
    leaf(1, "Average Power Draw", "average_power_draw", "power_memory_average_milliwatts", watts)
        .since(570)
        .also_in(550, 163),
    leaf(1, "Instantaneous Power Draw", "instant_power_draw", "power_memory_instant_milliwatts",
         watts)
        .since(570)
        .also_in(550, 163),
    section(0, "Module Power Readings", "module_power_readings").since(535).about("POWER"),
    leaf(1, "", "power_state", "power_state", performance_state),
    leaf(1, "Power Draw", "power_draw", "module_power_draw_average_milliwatts", watts)
        .upto(569)
        .not_in(550, 163),
    leaf(1, "Average Power Draw", "average_power_draw", "module_power_draw_average_milliwatts",
         watts)
        .since(570)
        .also_in(550, 163),
    leaf(1, "Instantaneous Power Draw", "instant_power_draw",
         "module_power_draw_instant_milliwatts", watts)
        .since(570)
        .also_in(550, 163),
    leaf(1, "Current Power Limit", "current_power_limit", "module_power_limit_milliwatts", watts),
    leaf(1, "Requested Power Limit", "requested_power_limit",
         "module_power_limit_requested_milliwatts", watts),
    leaf(1, "Default Power Limit", "default_power_limit", "module_power_limit_default_milliwatts",
         watts),
    leaf(1, "Min Power Limit", "min_power_limit", "module_power_limit_min_milliwatts", watts),
    leaf(1, "Max Power Limit", "max_power_limit", "module_power_limit_max_milliwatts", watts),
    section(0, "Power Smoothing", "power_smoothing", "smoothing_enabled")
        .since(570)
        .about("POWER_SMOOTHING"),
    leaf(1, "Enabled", "enabled", "smoothing_enabled", yes_no),
    leaf(1, "Delayed Power Smoothing Supported", "delayed_power_smoothing_supported",
         "smoothing_delayed_supported", yes_no)
        .since(590),
    leaf(1, "Privilege Level", "privilege_level", "smoothing_privilege", number),
    leaf(1, "Immediate Ramp Down", "immediate_ramp_down", "smoothing_immediate_ramp_down", enabled),
    leaf(1, "Current TMP Ceiling", "current_tmp_ceiling", "smoothing_ceiling_milliwatts", watts),
    leaf(1, "Current TMP Floor", "current_tmp_floor", "smoothing_floor_milliwatts", watts),
    leaf(1, "Max % TMP Floor", "max_percent_tmp_floor", "smoothing_floor_max_percent", percent),
    leaf(1, "Min % TMP Floor", "min_percent_tmp_floor", "smoothing_floor_min_percent", percent),
    leaf(1, "HW Lifetime % Remaining", "hw_lifetime_percent_remaining",
         "smoothing_lifetime_remaining_percent", percent),
    leaf(1, "Primary Power Floor", "primary_power_floor", "smoothing_primary_floor_milliwatts",
         watts)
        .since(590),
    leaf(1, "Secondary Power Floor", "secondary_power_floor",
         "smoothing_secondary_floor_milliwatts", watts)
        .since(590),
    leaf(1, "Min Primary Floor Activation Offset", "min_primary_floor_activation_offset",
         "smoothing_activation_offset_min_milliwatts", watts)
        .since(590),
    leaf(1, "Min Primary Floor Activation Point", "min_primary_floor_activation_point",
         "smoothing_activation_point_min_milliwatts", watts)
        .since(590),
    leaf(1, "Window Multiplier", "window_multiplier", "smoothing_window_milliseconds", milliseconds)
        .since(590),
    leaf(1, "Number of Preset Profiles", "number_of_preset_profiles", "smoothing_profiles", number),
    section(1, "Current Profile", "current_profile"),
    leaf(2, "% TMP Floor", "percent_tmp_floor", "smoothing_profile_floor_percent", percent),
    leaf(2, "Ramp Up Rate", "ramp_up_rate", "smoothing_profile_ramp_up", number),
    leaf(2, "Ramp Down Rate", "ramp_down_rate", "smoothing_profile_ramp_down", number),
    leaf(2, "Ramp Down Hysteresis", "ramp_down_hysteresis",
         "smoothing_profile_hysteresis_milliseconds", milliseconds),
    leaf(2, "Secondary Power Floor", "secondary_power_floor",
         "smoothing_profile_secondary_floor_milliwatts", watts)
        .since(590),
    leaf(2, "Primary Floor Activation Window Multiplier", "primary_floor_act_window_multiplier",
         "smoothing_profile_activation_windows", number)
        .since(590),
    leaf(2, "Primary Floor Target Window Multiplier", "primary_floor_tar_window_multiplier",
         "smoothing_profile_target_windows", number)
        .since(590),
    leaf(2, "Primary Floor Activation Offset", "primary_floor_act_offset",
         "smoothing_profile_activation_offset_milliwatts", watts)
        .since(590),
    leaf(2, "Active Preset Profile Number", "active_preset_profile_number", "smoothing_profile",
         number),
    section(1, "Admin Overrides", "admin_overrides"),
    leaf(2, "% TMP Floor", "percent_tmp_floor", "smoothing_override_floor_percent", percent),
    leaf(2, "Ramp Up Rate", "ramp_up_rate", "smoothing_override_ramp_up", number),
    leaf(2, "Ramp Down Rate", "ramp_down_rate", "smoothing_override_ramp_down", number),
    leaf(2, "Ramp Down Hysteresis", "ramp_down_hysteresis",
         "smoothing_override_hysteresis_milliseconds", milliseconds),
    leaf(2, "Secondary Power Floor", "secondary_power_floor",
         "smoothing_override_secondary_floor_milliwatts", watts)
        .since(590),
    leaf(2, "Primary Floor Activation Window Multiplier", "primary_floor_act_window_multiplier",
         "smoothing_override_activation_windows", number)
        .since(590),
    leaf(2, "Primary Floor Target Window Multiplier", "primary_floor_tar_window_multiplier",
         "smoothing_override_target_windows", number)
        .since(590),
    leaf(2, "Primary Floor Activation Offset", "primary_floor_act_offset",
         "smoothing_override_activation_offset_milliwatts", watts)
        .since(590),
    leaf(1, "SOC Power Smoothing", "soc_power_smoothing_enabled", "smoothing_stored_energy_enabled",
         enabled)
        .since(610),
    section(0, "Workload Power Profiles", "power_profiles").since(570).about("POWER_PROFILES"),
    leaf(1, "Requested Profiles", "power_profile_requested_profiles", "power_profiles_requested"),
    leaf(1, "Enforced Profiles", "power_profile_enforced_profiles", "power_profiles_enforced"),
    leaf(0, "EDPp Multiplier", "edpp_multiplier", "edpp_multiplier_percent", percent_exact)
        .since(590)
        .about("POWER"),
    section(0, "Clocks", "clocks").about("CLOCK"),
    leaf(1, "Graphics", "graphics_clock", "clock_graphics_megahertz", megahertz),
    leaf(1, "SM", "sm_clock", "clock_sm_megahertz", megahertz),
    leaf(1, "Memory", "mem_clock", "clock_memory_megahertz", megahertz),
    leaf(1, "Video", "video_clock", "clock_video_megahertz", megahertz),
    section(0, "Applications Clocks", "applications_clocks").about("CLOCK"),
    leaf(1, "Graphics", "graphics_clock", "clock_application_graphics_megahertz", megahertz),
    leaf(1, "Memory", "mem_clock", "clock_application_memory_megahertz", megahertz),
    section(0, "Default Applications Clocks", "default_applications_clocks").about("CLOCK"),
    leaf(1, "Graphics", "graphics_clock", "clock_default_graphics_megahertz", megahertz),
    leaf(1, "Memory", "mem_clock", "clock_default_memory_megahertz", megahertz),
    section(0, "Deferred Clocks", "deferred_clocks").since(520).about("CLOCK"),
    leaf(1, "Memory", "mem_clock", "clock_deferred_memory_megahertz", megahertz),
    section(0, "Max Clocks", "max_clocks").about("CLOCK"),
    leaf(1, "Graphics", "graphics_clock", "clock_graphics_max_megahertz", megahertz),
    leaf(1, "SM", "sm_clock", "clock_sm_max_megahertz", megahertz),
    leaf(1, "Memory", "mem_clock", "clock_memory_max_megahertz", megahertz),
    leaf(1, "Video", "video_clock", "clock_video_max_megahertz", megahertz),
    section(0, "Max Customer Boost Clocks", "max_customer_boost_clocks").about("CLOCK"),
    leaf(1, "Graphics", "graphics_clock", "clock_customer_boost_megahertz", megahertz),
    section(0, "SM Clock Samples", "").sampled_only().about("CLOCK"),
    leaf(1, "Duration", "", "samples_clock_sm_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_clock_sm_count", number),
    leaf(1, "Max", "", "samples_clock_sm_max_megahertz", megahertz),
    leaf(1, "Min", "", "samples_clock_sm_min_megahertz", megahertz),
    leaf(1, "Avg", "", "samples_clock_sm_average_megahertz", megahertz),
    section(0, "Memory Clock Samples", "").sampled_only().about("CLOCK"),
    leaf(1, "Duration", "", "samples_clock_memory_span_milliseconds", span),
    leaf(1, "Number of Samples", "", "samples_clock_memory_count", number),
    leaf(1, "Max", "", "samples_clock_memory_max_megahertz", megahertz),
    leaf(1, "Min", "", "samples_clock_memory_min_megahertz", megahertz),
    leaf(1, "Avg", "", "samples_clock_memory_average_megahertz", megahertz),
    section(0, "Clock Policy", "clock_policy").about("CLOCK"),
    leaf(1, "Auto Boost", "auto_boost", "auto_boost", on_off),
    leaf(1, "Auto Boost Default", "auto_boost_default", "auto_boost_default", on_off),
    section(0, "Voltage", "voltage").upto(579).about("VOLTAGE"),
    leaf(1, "Graphics", "graphics_volt", "voltage_graphics_millivolts", millivolts),
    section(0, "Fabric", "fabric").since(525),
    leaf(1, "State", "state", "fabric_state"),
    leaf(1, "Status", "status", "fabric_status"),
    leaf(1, "CliqueId", "cliqueId", "fabric_clique", number).since(545),
    leaf(1, "ClusterUUID", "clusterUuid", "fabric_cluster").since(545),
    section(1, "Health", "health").since(545),
    leaf(2, "Summary", "summary", "fabric_health_summary").since(580),
    leaf(2, "Bandwidth", "bandwidth", "fabric_health_bandwidth"),
    leaf(2, "Route Recovery in progress", "route_recovery_in_progress",
         "fabric_health_route_recovery")
        .since(570),
    leaf(2, "Route Unhealthy", "route_unhealthy", "fabric_health_route_unhealthy").since(570),
    leaf(2, "Access Timeout Recovery", "access_timeout_recovery", "fabric_health_access_timeout")
        .since(570),
    leaf(2, "Incorrect Configuration", "incorrect_configuration", "fabric_health_configuration")
        .since(580),
    leaf(2, "Partition Assigned", "partition_assigned", "fabric_health_partition")
        .since(595)
        .also_in(580),
    special(Special::supported_clocks, "Supported Clocks", "supported_clocks")
        .about("SUPPORTED_CLOCKS"),
    special(Special::processes, "Processes", "processes").about("PIDS"),
    special(Special::accounted, "Accounted Processes", "accounted_processes").about("ACCOUNTING"),
    section(0, "Capabilities", "capabilities").since(555),
    leaf(1, "EGM", "egm", "egm", lower_enabled),
});

}  // namespace berth::smi::rows
