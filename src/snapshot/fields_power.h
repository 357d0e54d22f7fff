#pragma once
// Rows of the field table: heat, power limits and power smoothing. Internal to fields.cc.

#include <array>

#include "snapshot/detail_row.h"

namespace berth::field_rows {

using enum Unit;

constexpr auto power_details = std::to_array<Field>({
    detail<Detail::temperature_limit_margin, Celsius>(
        "temperature_limit_margin_celsius", "temperature.gpu.tlimit", celsius,
        "Degrees left until it slows down.", "berth_device_temperature_margin_celsius"),
    detail<Detail::temperature_shutdown, Celsius>("temperature_shutdown_celsius", "", celsius,
                                                  "Temperature at which it shuts down.",
                                                  "berth_device_shutdown_temperature_celsius"),
    detail<Detail::temperature_max_operating, Celsius>(
        "temperature_max_operating_celsius", "", celsius,
        "Highest temperature it is made to run at.", ""),
    detail<Detail::temperature_memory_max_operating, Celsius>(
        "temperature_memory_max_operating_celsius", "", celsius,
        "Highest temperature its memory is made to run at.", ""),
    detail<Detail::temperature_shutdown_margin, Celsius>(
        "temperature_shutdown_margin_celsius", "", celsius, "Margin at which it shuts down.", ""),
    detail<Detail::temperature_slowdown_margin, Celsius>(
        "temperature_slowdown_margin_celsius", "", celsius, "Margin at which it slows down.", ""),
    detail<Detail::temperature_max_operating_margin, Celsius>(
        "temperature_max_operating_margin_celsius", "", celsius,
        "Lowest margin it is made to run at.", ""),
    detail<Detail::temperature_memory_margin, Celsius>(
        "temperature_memory_margin_celsius", "", celsius,
        "Lowest margin its memory is made to run at.", ""),
    detail<Detail::temperature_target, Celsius>("temperature_target_celsius", "", celsius,
                                                "Temperature that the driver steers for.", ""),
    detail<Detail::temperature_target_min, Celsius>("temperature_target_min_celsius", "", celsius,
                                                    "Lowest target that can be set.", ""),
    detail<Detail::temperature_target_max, Celsius>("temperature_target_max_celsius", "", celsius,
                                                    "Highest target that can be set.", ""),
    detail<Detail::power_management, std::string>(
        "power_management", "power.management", none,
        "Whether power can be limited; drivers before 535 say so.", ""),
    detail<Detail::power_draw_average, Milliwatts>(
        "power_draw_average_milliwatts", "power.draw.average", milliwatts,
        "Power drawn, mean over a second.", "berth_device_power_average_watts"),
    detail<Detail::power_draw_instant, Milliwatts>(
        "power_draw_instant_milliwatts", "power.draw.instant", milliwatts,
        "Power drawn at this moment.", "berth_device_power_instant_watts"),
    detail<Detail::power_limit_requested, Milliwatts>(
        "power_limit_requested_milliwatts", "power.limit", milliwatts,
        "Power limit asked for by an administrator.", "berth_device_power_limit_requested_watts"),
    detail<Detail::power_limit_min, Milliwatts>("power_limit_min_milliwatts", "power.min_limit",
                                                milliwatts, "Lowest power limit that can be set.",
                                                "berth_device_power_limit_lowest_watts"),
    detail<Detail::power_limit_max, Milliwatts>("power_limit_max_milliwatts", "power.max_limit",
                                                milliwatts, "Highest power limit that can be set.",
                                                "berth_device_power_limit_highest_watts"),
    detail<Detail::power_memory_average, Milliwatts>(
        "power_memory_average_milliwatts", "", milliwatts,
        "Power drawn by its memory, mean over a second.", "berth_device_memory_power_watts"),
    detail<Detail::power_memory_instant, Milliwatts>(
        "power_memory_instant_milliwatts", "", milliwatts,
        "Power drawn by its memory at this moment.", ""),
    detail<Detail::module_power_draw_average, Milliwatts>(
        "module_power_draw_average_milliwatts", "module.power.draw.average", milliwatts,
        "Power drawn by the module with its CPU, mean over a second.",
        "berth_device_module_power_watts"),
    detail<Detail::module_power_draw_instant, Milliwatts>(
        "module_power_draw_instant_milliwatts", "module.power.draw.instant", milliwatts,
        "Power drawn by the module with its CPU at this moment.", ""),
    detail<Detail::module_power_limit_requested, Milliwatts>(
        "module_power_limit_requested_milliwatts", "module.power.limit", milliwatts,
        "Power limit of the module asked for.", ""),
    detail<Detail::module_power_limit, Milliwatts>(
        "module_power_limit_milliwatts", "module.enforced.power.limit", milliwatts,
        "Power limit of the module in force.", "berth_device_module_power_limit_watts"),
    detail<Detail::module_power_limit_default, Milliwatts>(
        "module_power_limit_default_milliwatts", "module.power.default_limit", milliwatts,
        "Power limit of the module after a reboot.", ""),
    detail<Detail::module_power_limit_min, Milliwatts>("module_power_limit_min_milliwatts",
                                                       "module.power.min_limit", milliwatts,
                                                       "Lowest power limit of the module.", ""),
    detail<Detail::module_power_limit_max, Milliwatts>("module_power_limit_max_milliwatts",
                                                       "module.power.max_limit", milliwatts,
                                                       "Highest power limit of the module.", ""),
    detail<Detail::base_power_current, Milliwatts>("base_power_current_milliwatts",
                                                   "gpu.base.current", milliwatts,
                                                   "Base power in force.", ""),
    detail<Detail::base_power_requested, Milliwatts>("base_power_requested_milliwatts",
                                                     "gpu.base.requested", milliwatts,
                                                     "Base power asked for.", ""),
    detail<Detail::base_power_default, Milliwatts>("base_power_default_milliwatts",
                                                   "gpu.base.default", milliwatts,
                                                   "Base power after a reboot.", ""),
    detail<Detail::base_power_min, Milliwatts>("base_power_min_milliwatts", "gpu.base.min",
                                               milliwatts, "Lowest base power that can be set.",
                                               ""),
    detail<Detail::base_power_max, Milliwatts>("base_power_max_milliwatts", "gpu.base.max",
                                               milliwatts, "Highest base power that can be set.",
                                               ""),
    detail<Detail::edpp_multiplier, Percent>("edpp_multiplier_percent", "edpp_multiplier", percent,
                                             "Peak current allowed, of what the design allows.",
                                             ""),
    detail<Detail::power_profiles_requested, std::string>("power_profiles_requested", "", none,
                                                          "Workload power profiles asked for.", ""),
    detail<Detail::power_profiles_enforced, std::string>("power_profiles_enforced", "", none,
                                                         "Workload power profiles in force.", ""),
    detail<Detail::smoothing_enabled, bool>("smoothing_enabled", "power_smoothing.enabled", none,
                                            "Whether swings of its power are smoothed.", ""),
    detail<Detail::smoothing_privilege, std::uint64_t>("smoothing_privilege",
                                                       "power_smoothing.priv_level", count,
                                                       "Who may change the smoothing.", ""),
    detail<Detail::smoothing_immediate_ramp_down, bool>("smoothing_immediate_ramp_down",
                                                        "power_smoothing.imm_ramp_down", none,
                                                        "Whether power may fall at once.", ""),
    detail<Detail::smoothing_floor, Milliwatts>("smoothing_floor_milliwatts",
                                                "power_smoothing.tmp_floor", milliwatts,
                                                "Floor of the smoothing in force.", ""),
    detail<Detail::smoothing_ceiling, Milliwatts>("smoothing_ceiling_milliwatts",
                                                  "power_smoothing.tmp_ceil", milliwatts,
                                                  "Ceiling of the smoothing in force.", ""),
    detail<Detail::smoothing_lifetime_remaining, Percent>(
        "smoothing_lifetime_remaining_percent", "power_smoothing.hw_lifetime_remaining_percent",
        percent, "What is left of the smoothing circuit's life.", ""),
    detail<Detail::smoothing_floor_max, Percent>("smoothing_floor_max_percent",
                                                 "power_smoothing.max_percent_tmp_floor", percent,
                                                 "Highest floor that can be set.", ""),
    detail<Detail::smoothing_floor_min, Percent>("smoothing_floor_min_percent",
                                                 "power_smoothing.min_percent_tmp_floor", percent,
                                                 "Lowest floor that can be set.", ""),
    detail<Detail::smoothing_profiles, std::uint64_t>("smoothing_profiles",
                                                      "power_smoothing.num_preset_profiles", count,
                                                      "How many smoothing profiles there are.", ""),
    detail<Detail::smoothing_profile, std::uint64_t>("smoothing_profile",
                                                     "power_smoothing.active_profile", count,
                                                     "The smoothing profile in force.", ""),
    detail<Detail::smoothing_stored_energy_enabled, bool>(
        "smoothing_stored_energy_enabled", "power_smoothing.soc_power_smoothing_enabled", none,
        "Whether stored energy helps to smooth.", ""),
    detail<Detail::smoothing_delayed_supported, bool>(
        "smoothing_delayed_supported", "power_smoothing.delayed_power_smoothing_supported", none,
        "Whether delayed smoothing is possible.", ""),
    detail<Detail::smoothing_primary_floor, Milliwatts>(
        "smoothing_primary_floor_milliwatts", "power_smoothing.primary_power_floor", milliwatts,
        "First floor of delayed smoothing.", ""),
    detail<Detail::smoothing_secondary_floor, Milliwatts>(
        "smoothing_secondary_floor_milliwatts", "power_smoothing.secondary_power_floor", milliwatts,
        "Second floor of delayed smoothing.", ""),
    detail<Detail::smoothing_activation_offset_min, Milliwatts>(
        "smoothing_activation_offset_min_milliwatts",
        "power_smoothing.min_primary_floor_activation_offset", milliwatts,
        "Lowest offset at which the first floor sets in.", ""),
    detail<Detail::smoothing_activation_point_min, Milliwatts>(
        "smoothing_activation_point_min_milliwatts",
        "power_smoothing.min_primary_floor_activation_point", milliwatts,
        "Lowest power at which the first floor sets in.", ""),
    detail<Detail::smoothing_window, Milliseconds>(
        "smoothing_window_milliseconds", "power_smoothing.window_multiplier", milliseconds,
        "Unit of the smoothing windows.", ""),
    detail<Detail::smoothing_profile_floor, Percent>(
        "smoothing_profile_floor_percent", "power_smoothing.curr_profile.percent_tmp_floor",
        percent, "Floor of the profile in force.", ""),
    detail<Detail::smoothing_profile_ramp_up, std::uint64_t>(
        "smoothing_profile_ramp_up", "power_smoothing.curr_profile.ramp_up_rate", count,
        "Milliwatts per second upwards, of the profile in force.", ""),
    detail<Detail::smoothing_profile_ramp_down, std::uint64_t>(
        "smoothing_profile_ramp_down", "power_smoothing.curr_profile.ramp_down_rate", count,
        "Milliwatts per second downwards, of the profile in force.", ""),
    detail<Detail::smoothing_profile_hysteresis, Milliseconds>(
        "smoothing_profile_hysteresis_milliseconds",
        "power_smoothing.curr_profile.ramp_down_hysteresis", milliseconds,
        "Wait before power falls, of the profile in force.", ""),
    detail<Detail::smoothing_profile_secondary_floor, Milliwatts>(
        "smoothing_profile_secondary_floor_milliwatts",
        "power_smoothing.curr_profile.secondary_power_floor", milliwatts,
        "Second floor of the profile in force.", ""),
    detail<Detail::smoothing_profile_activation_windows, std::uint64_t>(
        "smoothing_profile_activation_windows",
        "power_smoothing.curr_profile.primary_floor_act_window_multiplier", count,
        "Windows until the first floor sets in, of the profile in force.", ""),
    detail<Detail::smoothing_profile_target_windows, std::uint64_t>(
        "smoothing_profile_target_windows",
        "power_smoothing.curr_profile.primary_floor_tar_window_multiplier", count,
        "Windows until the first floor is reached, of the profile in force.", ""),
    detail<Detail::smoothing_profile_activation_offset, Milliwatts>(
        "smoothing_profile_activation_offset_milliwatts",
        "power_smoothing.curr_profile.primary_floor_act_offset", milliwatts,
        "Offset at which the first floor sets in, of the profile in force.", ""),
    detail<Detail::smoothing_override_floor, Percent>(
        "smoothing_override_floor_percent", "power_smoothing.admin_override.percent_tmp_floor",
        percent, "Floor set by an administrator.", ""),
    detail<Detail::smoothing_override_ramp_up, std::uint64_t>(
        "smoothing_override_ramp_up", "power_smoothing.admin_override.ramp_up_rate", count,
        "Milliwatts per second upwards, set by an administrator.", ""),
    detail<Detail::smoothing_override_ramp_down, std::uint64_t>(
        "smoothing_override_ramp_down", "power_smoothing.admin_override.ramp_down_rate", count,
        "Milliwatts per second downwards, set by an administrator.", ""),
    detail<Detail::smoothing_override_hysteresis, Milliseconds>(
        "smoothing_override_hysteresis_milliseconds",
        "power_smoothing.admin_override.ramp_down_hysteresis", milliseconds,
        "Wait before power falls, set by an administrator.", ""),
    detail<Detail::smoothing_override_secondary_floor, Milliwatts>(
        "smoothing_override_secondary_floor_milliwatts",
        "power_smoothing.admin_override.secondary_power_floor", milliwatts,
        "Second floor set by an administrator.", ""),
    detail<Detail::smoothing_override_activation_windows, std::uint64_t>(
        "smoothing_override_activation_windows",
        "power_smoothing.admin_override.primary_floor_act_window_multiplier", count,
        "Windows until the first floor sets in, set by an administrator.", ""),
    detail<Detail::smoothing_override_target_windows, std::uint64_t>(
        "smoothing_override_target_windows",
        "power_smoothing.admin_override.primary_floor_tar_window_multiplier", count,
        "Windows until the first floor is reached, set by an administrator.", ""),
    detail<Detail::smoothing_override_activation_offset, Milliwatts>(
        "smoothing_override_activation_offset_milliwatts",
        "power_smoothing.admin_override.primary_floor_act_offset", milliwatts,
        "Offset at which the first floor sets in, set by an administrator.", ""),
});

}  // namespace berth::field_rows
