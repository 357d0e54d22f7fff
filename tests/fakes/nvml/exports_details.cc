// Details that come one or two at a time, and field values.

#include <cstdio>

#include "details.h"

using namespace fake_nvml;

namespace {

constexpr Word virtualization_modes[] = {
    {0, "None"}, {1, "Pass-Through"}, {2, "VGPU"}, {3, "Host VGPU"}, {4, "Host VSGA"}};
constexpr Word host_vgpu_modes[] = {{0, "Non SR-IOV"}, {1, "SR-IOV"}};
constexpr Word driver_models[] = {{0, "WDDM"}, {1, "TCC"}, {2, "MCDM"}};
constexpr Word operation_modes[] = {{0, "All On"}, {1, "Compute"}, {2, "Low Double Precision"}};
constexpr Word yes_words[] = {
    {0, "Not Supported"}, {1, "Supported"}, {0, "Disabled"}, {1, "Enabled"}};
constexpr Word recovery_actions[] = {
    {0, "None"},      {1, "Reset"},           {2, "Reboot"},
    {3, "Drain P2P"}, {4, "Drain and Reset"}, {5, "Recover IMEX Domain"}};

Return put_pair(const Call& call, unsigned* first, unsigned* second, const Cell& one,
                const Cell& other) {
  const Return code = put_cell(call, first, one);
  return code == success ? put_cell(call, second, other) : code;
}

/// Either may be null, not both.
Return put_word_pair(const Call& call, unsigned* first, unsigned* second, const Cell& one,
                     const Cell& other, Words words) {
  if (first == nullptr) return put_word(call, second, other, words);
  const Return code = put_word(call, first, one, words);
  return code == success && second != nullptr ? put_word(call, second, other, words) : code;
}

}  // namespace

// NAME(device, unsigned*) answers a number or a yes-or-no.
#define FAKE_NVML_NUMBER(NAME, DETAIL)                                      \
  FAKE_NVML NAME(Handle handle, unsigned* out) {                            \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return put_cell(call, out, cell_of(it, Detail::DETAIL));              \
    });                                                                     \
  }
#define FAKE_NVML_WORD(NAME, DETAIL, WORDS)                                 \
  FAKE_NVML NAME(Handle handle, unsigned* out) {                            \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return put_word(call, out, cell_of(it, Detail::DETAIL), WORDS);       \
    });                                                                     \
  }
// NAME(device, unsigned* now, unsigned* then).
#define FAKE_NVML_PAIR(NAME, FIRST, SECOND)                                 \
  FAKE_NVML NAME(Handle handle, unsigned* first, unsigned* second) {        \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return put_pair(call, first, second, cell_of(it, Detail::FIRST),      \
                      cell_of(it, Detail::SECOND));                         \
    });                                                                     \
  }
#define FAKE_NVML_WORD_PAIR(NAME, FIRST, SECOND, WORDS)                     \
  FAKE_NVML NAME(Handle handle, unsigned* first, unsigned* second) {        \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return put_word_pair(call, first, second, cell_of(it, Detail::FIRST), \
                           cell_of(it, Detail::SECOND), WORDS);             \
    });                                                                     \
  }
// NAME(device, unsigned* share, unsigned* period).
#define FAKE_NVML_ENGINE(NAME, DETAIL)                                      \
  FAKE_NVML NAME(Handle handle, unsigned* busy, unsigned* period) {         \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      if (period != nullptr) *period = 167'000;                             \
      return put_cell(call, busy, cell_of(it, Detail::DETAIL));             \
    });                                                                     \
  }

FAKE_NVML_NUMBER(nvmlDeviceGetBoardId, board_id)
FAKE_NVML_NUMBER(nvmlDeviceGetMultiGpuBoard, multi_gpu_board)
FAKE_NVML_NUMBER(nvmlDeviceGetModuleId, platform_module_id)
FAKE_NVML_NUMBER(nvmlDeviceGetAccountingMode, accounting_mode)
FAKE_NVML_NUMBER(nvmlDeviceGetAccountingBufferSize, accounting_buffer_size)
FAKE_NVML_NUMBER(nvmlDeviceGetPowerState, power_state)
FAKE_NVML_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_generation_device_max)
FAKE_NVML_NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, retired_pages_pending)
FAKE_NVML_NUMBER(nvmlDeviceGetPowerManagementLimit, power_limit_requested)
FAKE_NVML_WORD(nvmlDeviceGetPowerManagementMode, power_management, yes_words)
FAKE_NVML_WORD(nvmlDeviceGetVirtualizationMode, virtualization_mode, virtualization_modes)
FAKE_NVML_WORD(nvmlDeviceGetHostVgpuMode, host_vgpu_mode, host_vgpu_modes)
FAKE_NVML_PAIR(nvmlDeviceGetGspFirmwareMode, gsp_mode, gsp_mode_default)
FAKE_NVML_PAIR(nvmlDeviceGetAutoBoostedClocksEnabled, auto_boost, auto_boost_default)
FAKE_NVML_PAIR(nvmlDeviceGetPowerManagementLimitConstraints, power_limit_min, power_limit_max)
FAKE_NVML_WORD_PAIR(nvmlDeviceGetDriverModel, driver_model, driver_model_pending, driver_models)
FAKE_NVML_WORD_PAIR(nvmlDeviceGetDriverModel_v2, driver_model, driver_model_pending, driver_models)
FAKE_NVML_WORD_PAIR(nvmlDeviceGetGpuOperationMode, operation_mode, operation_mode_pending,
                    operation_modes)
FAKE_NVML_ENGINE(nvmlDeviceGetJpgUtilization, utilization_jpeg)
FAKE_NVML_ENGINE(nvmlDeviceGetOfaUtilization, utilization_optical_flow)

FAKE_NVML nvmlDeviceGetSupportedClocksEventReasons(Handle handle, unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_cell(call, out, cell_of(it, Detail::throttle_supported));
  });
}
FAKE_NVML nvmlDeviceGetSupportedClocksThrottleReasons(Handle handle, unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_cell(call, out, cell_of(it, Detail::throttle_supported));
  });
}

namespace {

Return put_clock(const char* function, Handle handle, unsigned domain, unsigned* out,
                 Detail graphics, std::optional<Detail> memory) {
  return on_device(function, handle, [&](const Call& call, const FakeDevice& it) {
    if (domain == 0) return put_cell(call, out, cell_of(it, graphics));
    if (domain == 2 && memory) return put_cell(call, out, cell_of(it, *memory));
    return domain < 4 ? not_supported : invalid_argument;
  });
}

}  // namespace

FAKE_NVML nvmlDeviceGetApplicationsClock(Handle handle, unsigned domain, unsigned* out) {
  return put_clock(__func__, handle, domain, out, Detail::clock_application_graphics,
                   Detail::clock_application_memory);
}
FAKE_NVML nvmlDeviceGetDefaultApplicationsClock(Handle handle, unsigned domain, unsigned* out) {
  return put_clock(__func__, handle, domain, out, Detail::clock_default_graphics,
                   Detail::clock_default_memory);
}
FAKE_NVML nvmlDeviceGetMaxCustomerBoostClock(Handle handle, unsigned domain, unsigned* out) {
  return put_clock(__func__, handle, domain, out, Detail::clock_customer_boost, std::nullopt);
}
FAKE_NVML nvmlDeviceGetClock(Handle handle, unsigned domain, unsigned which, unsigned* out) {
  switch (which) {
    case 1:
      return nvmlDeviceGetApplicationsClock(handle, domain, out);
    case 2:
      return nvmlDeviceGetDefaultApplicationsClock(handle, domain, out);
    case 3:
      return nvmlDeviceGetMaxCustomerBoostClock(handle, domain, out);
    default:
      return not_supported;
  }
}

FAKE_NVML nvmlDeviceGetVgpuCapabilities(Handle handle, unsigned capability, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    const auto put = [&](Detail detail) {
      return put_word(call, out, cell_of(it, detail), yes_words);
    };
    switch (capability) {
      case 0:
        return put(Detail::vgpu_fractional);
      case 1:
        return put(Detail::vgpu_timeslice_profiles);
      case 2:
        return put(Detail::vgpu_timeslice_sizes);
      case 9:
        return put(Detail::vgpu_homogeneous_placements);
      case 10:
        return put(Detail::vgpu_mig_timeslicing);
      case 11:
        return put(Detail::vgpu_mig_timeslicing_mode);
      default:
        return capability < 12 ? not_supported : invalid_argument;
    }
  });
}
FAKE_NVML nvmlGetVgpuDriverCapabilities(unsigned capability, unsigned* out) {
  return on_system(__func__, [&](const Call& call) {
    if (capability > 1) return invalid_argument;
    if (capability == 1 || gpus().empty()) return not_supported;
    return put_word(call, out, cell_of(*gpus()[0], Detail::vgpu_driver_heterogeneous), yes_words);
  });
}

namespace {

// By nvmlMemoryLocation_t; corrected and volatile, corrected and aggregate, uncorrected likewise.
constexpr Detail error_counters[8][4] = {
    {Detail::ecc_corrected_volatile_l1_cache, Detail::ecc_corrected_aggregate_l1_cache,
     Detail::ecc_uncorrected_volatile_l1_cache, Detail::ecc_uncorrected_aggregate_l1_cache},
    {Detail::ecc_corrected_volatile_l2_cache, Detail::ecc_corrected_aggregate_l2_cache,
     Detail::ecc_uncorrected_volatile_l2_cache, Detail::ecc_uncorrected_aggregate_l2_cache},
    {Detail::ecc_corrected_volatile_dram, Detail::ecc_corrected_aggregate_dram,
     Detail::ecc_uncorrected_volatile_dram, Detail::ecc_uncorrected_aggregate_dram},
    {Detail::ecc_corrected_volatile_register_file, Detail::ecc_corrected_aggregate_register_file,
     Detail::ecc_uncorrected_volatile_register_file,
     Detail::ecc_uncorrected_aggregate_register_file},
    {Detail::ecc_corrected_volatile_texture, Detail::ecc_corrected_aggregate_texture,
     Detail::ecc_uncorrected_volatile_texture, Detail::ecc_uncorrected_aggregate_texture},
    {},  // shared memory of textures: in no snapshot
    {Detail::ecc_corrected_volatile_cbu, Detail::ecc_corrected_aggregate_cbu,
     Detail::ecc_uncorrected_volatile_cbu, Detail::ecc_uncorrected_aggregate_cbu},
    {Detail::ecc_corrected_volatile_sram, Detail::ecc_corrected_aggregate_sram,
     Detail::ecc_uncorrected_volatile_sram, Detail::ecc_uncorrected_aggregate_sram},
};

}  // namespace

FAKE_NVML nvmlDeviceGetMemoryErrorCounter(Handle handle, unsigned type, unsigned counter,
                                          unsigned place, unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (type > 1 || counter > 1 || place > 7) return invalid_argument;
    if (place == 5) return not_supported;
    return put_cell(call, out, cell_of(it, error_counters[place][type * 2 + counter]));
  });
}

namespace {

/// How a field's value is told: nvmlValueType_t, and what one of our units is in the driver's.
struct FakeField {
  std::uint32_t field;
  std::uint32_t scope;
  Detail detail;
  unsigned type = value_is_unsigned;
  double factor = 1;
};

constexpr double per_milliwatt = 1e-3;  // fields in watts
constexpr FakeField fields[] = {
    {29, 0, Detail::retired_pages_single_bit},
    {30, 0, Detail::retired_pages_double_bit},
    {31, 0, Detail::retired_pages_pending},
    {38, 0, Detail::nvlink_flit_errors, value_is_unsigned_long_long},
    {45, 0, Detail::nvlink_data_errors, value_is_unsigned_long_long},
    {52, 0, Detail::nvlink_replays, value_is_unsigned_long_long},
    {59, 0, Detail::nvlink_recoveries, value_is_unsigned_long_long},
    {74, 0, Detail::throttled_power_cap, value_is_unsigned_long_long, 1000},
    {76, 0, Detail::throttled_sync_boost, value_is_unsigned_long_long, 1000},
    {91, 0, Detail::nvlink_count},
    {95, 0, Detail::pcie_replay_rollovers},
    {145, 0, Detail::remapped_rows_failed},
    {160, 0, Detail::nvlink_ecc_errors, value_is_unsigned_long_long},
    {185, 0, Detail::power_draw_average},
    {185, 1, Detail::module_power_draw_average},
    {185, 2, Detail::power_memory_average},
    {186, 0, Detail::power_draw_instant},
    {186, 1, Detail::module_power_draw_instant},
    {186, 2, Detail::power_memory_instant},
    {187, 0, Detail::power_limit_min},
    {187, 1, Detail::module_power_limit_min},
    {187, 3, Detail::base_power_min},
    {188, 0, Detail::power_limit_max},
    {188, 1, Detail::module_power_limit_max},
    {188, 3, Detail::base_power_max},
    {189, 1, Detail::module_power_limit_default},
    {189, 3, Detail::base_power_default},
    {190, 1, Detail::module_power_limit},
    {190, 3, Detail::base_power_current},
    {192, 0, Detail::power_limit_requested},
    {192, 1, Detail::module_power_limit_requested},
    {192, 3, Detail::base_power_requested},
    {193, 0, Detail::temperature_shutdown_margin, value_is_int},
    {194, 0, Detail::temperature_slowdown_margin, value_is_int},
    {195, 0, Detail::temperature_memory_margin, value_is_int},
    {196, 0, Detail::temperature_max_operating_margin, value_is_int},
    {226, 0, Detail::reset_required},
    {227, 0, Detail::drain_and_reset_recommended},
    {251, 0, Detail::smoothing_enabled},
    {252, 0, Detail::smoothing_privilege},
    {253, 0, Detail::smoothing_immediate_ramp_down},
    {254, 0, Detail::smoothing_ceiling, value_is_unsigned, per_milliwatt},
    {255, 0, Detail::smoothing_floor, value_is_unsigned, per_milliwatt},
    {256, 0, Detail::smoothing_floor_max, value_is_double},
    {257, 0, Detail::smoothing_floor_min, value_is_double},
    {258, 0, Detail::smoothing_lifetime_remaining, value_is_double},
    {259, 0, Detail::smoothing_profiles},
    {260, 0, Detail::smoothing_profile_floor, value_is_double},
    {261, 0, Detail::smoothing_profile_ramp_up},
    {262, 0, Detail::smoothing_profile_ramp_down},
    {263, 0, Detail::smoothing_profile_hysteresis},
    {264, 0, Detail::smoothing_profile},
    {265, 0, Detail::smoothing_override_floor, value_is_double},
    {266, 0, Detail::smoothing_override_ramp_up},
    {267, 0, Detail::smoothing_override_ramp_down},
    {268, 0, Detail::smoothing_override_hysteresis},
    {269, 0, Detail::throttled_software_thermal, value_is_unsigned_long_long, 1000},
    {270, 0, Detail::throttled_hardware_thermal, value_is_unsigned_long_long, 1000},
    {271, 0, Detail::throttled_power_brake, value_is_unsigned_long_long, 1000},
    {274, 0, Detail::edpp_multiplier, value_is_double},
    {275, 0, Detail::smoothing_primary_floor, value_is_unsigned, per_milliwatt},
    {276, 0, Detail::smoothing_secondary_floor, value_is_unsigned, per_milliwatt},
    {277, 0, Detail::smoothing_activation_offset_min, value_is_unsigned, per_milliwatt},
    {278, 0, Detail::smoothing_activation_point_min, value_is_unsigned, per_milliwatt},
    {279, 0, Detail::smoothing_window},
    {280, 0, Detail::smoothing_delayed_supported},
    {281, 0, Detail::smoothing_profile_secondary_floor, value_is_unsigned, per_milliwatt},
    {282, 0, Detail::smoothing_profile_activation_windows},
    {283, 0, Detail::smoothing_profile_target_windows},
    {284, 0, Detail::smoothing_profile_activation_offset, value_is_unsigned, per_milliwatt},
    {285, 0, Detail::smoothing_override_secondary_floor, value_is_unsigned, per_milliwatt},
    {286, 0, Detail::smoothing_override_activation_windows},
    {287, 0, Detail::smoothing_override_target_windows},
    {288, 0, Detail::smoothing_override_activation_offset, value_is_unsigned, per_milliwatt},
    {300, 0, Detail::smoothing_stored_energy_enabled},
    {301, 0, Detail::remapped_rows_correctable_inactive},
    {302, 0, Detail::remapped_rows_uncorrectable_inactive},
};

void store(FieldValue& field, unsigned type, double number) {
  field.answer = success;
  field.value_type = type;
  field.value.as_unsigned_long = 0;
  if (type == value_is_double) {
    field.value.as_double = number;
  } else if (type == value_is_int) {
    field.value.as_int = static_cast<std::int32_t>(std::lround(number));
  } else if (type == value_is_unsigned) {
    field.value.as_unsigned = static_cast<std::uint32_t>(std::llround(number));
  } else {
    field.value.as_unsigned_long = static_cast<std::uint64_t>(std::llround(number));
  }
}

void store_cell(FieldValue& field, const Cell& cell, unsigned type, double number) {
  if (cell.get()) return store(field, type, number);
  field.answer = code_of(cell.why());
}

// "FETCHADD_32 CAS_64" as NVML_PCIE_ATOMICS_CAP_… bits.
unsigned atomics_in(const std::string& text) {
  constexpr Word operations[] = {{0x01, "FETCHADD_32"}, {0x02, "FETCHADD_64"}, {0x04, "SWAP_32"},
                                 {0x08, "SWAP_64"},     {0x10, "CAS_32"},      {0x20, "CAS_64"},
                                 {0x40, "CAS_128"}};
  unsigned mask = 0;
  for (const Word& operation : operations) {
    if ((" " + text + " ").find(" " + std::string(operation.word) + " ") != std::string::npos) {
      mask |= operation.number;
    }
  }
  return mask;
}

// KiB that went over all links: as if they had gone at the snapshot's rate since 1970.
void store_nvlink(FieldValue& field, const Cell& rate) {
  store_cell(field, rate, value_is_unsigned_long_long,
             number_in(rate) / 1024 * static_cast<double>(now_us()) / 1e6);
}

const berth::NvLink* link_of(const FakeDevice& it, std::uint32_t number) {
  const auto& links = it.data.lists.nvlinks.get();
  if (!links) return nullptr;
  for (const berth::NvLink& link : *links) {
    if (link.number == number) return &link;
  }
  return nullptr;
}

// NVML_FI_DEV_NVLINK_GET_SPEED (MB/s) and _GET_STATE of the link that the scope names.
void store_link(const FakeDevice& it, FieldValue& field) {
  const berth::NvLink* link = link_of(it, field.scope);
  field.answer = invalid_argument;
  if (link == nullptr) return;
  if (field.field == 164) {
    if (!link->speed.get()) {
      field.answer = code_of(link->speed.why());
      return;
    }
    return store(field, value_is_unsigned, static_cast<double>(link->speed.get()->count()) / 1e6);
  }
  if (!link->active.get()) {
    field.answer = code_of(link->active.why());
    return;
  }
  store(field, value_is_unsigned, *link->active.get() ? 1 : 0);
}

}  // namespace

FAKE_NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, unsigned number, PciInfoV3* out) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) {
    const berth::NvLink* link = link_of(it, number);
    if (out == nullptr || link == nullptr) return invalid_argument;
    if (!link->remote.get()) return code_of(link->remote.why());
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    if (std::sscanf(link->remote.get()->c_str(), "%x:%x:%x", &domain, &bus, &device) != 3) {
      return unknown;
    }
    *out = {.domain = domain, .bus = bus, .device = device};
    std::snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", domain, bus, device);
    return success;
  });
}

bool fake_nvml::answer_detail_field(const FakeDevice& it, FieldValue& field) {
  switch (field.field) {
    case 164:
    case 165:
      return store_link(it, field), true;
    case 138:
      return store_nvlink(field, cell_of(it, Detail::nvlink_sent_rate)), true;
    case 139:
      return store_nvlink(field, cell_of(it, Detail::nvlink_received_rate)), true;
    case 228:
    case 229: {
      const Cell& cell = cell_of(
          it, field.field == 228 ? Detail::pcie_atomics_outbound : Detail::pcie_atomics_inbound);
      return store_cell(field, cell, value_is_unsigned, atomics_in(text_in(cell))), true;
    }
    case 230: {
      const Cell& cell = cell_of(it, Detail::recovery_action);
      return store_cell(field, cell, value_is_unsigned, enumerator_in(cell, recovery_actions)),
             true;
    }
    default:
      break;
  }
  for (const FakeField& row : fields) {
    if (row.field != field.field || row.scope != field.scope) continue;
    const Cell& cell = cell_of(it, row.detail);
    // Moving, a link resends fifty packets a second.
    const double more = row.detail == Detail::nvlink_replays ? 50 * seconds_moved() : 0;
    store_cell(field, cell, row.type, number_in(cell, row.factor) + more);
    return true;
  }
  return false;
}
