// Details that a function fills a structure with, and texts.

#include <cstdio>

#include "details.h"

using namespace fake_nvml;

namespace {

template <class Struct>
bool has_version(const Struct& filled, unsigned version) {
  return filled.version == (sizeof(Struct) | version << 24);
}

std::uint32_t small(const Call& call, const FakeDevice& it, Detail detail) {
  return lied(call, static_cast<std::uint32_t>(std::llround(number_in(cell_of(it, detail)))));
}
std::uint64_t large(const Call& call, const FakeDevice& it, Detail detail) {
  const Cell& cell = cell_of(it, detail);
  const std::uint64_t count = count_in(cell);
  return lied(call, count != 0 ? count : static_cast<std::uint64_t>(std::llround(number_in(cell))));
}

/// fill(call, device) where the structure is sound and the first of its details is there.
template <class Struct, class Fill>
Return fill_struct(const char* function, Handle handle, Struct* out, Detail first, Fill fill) {
  return on_device(function, handle, [&](const Call& call, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    const Return code = answer_as(call, cell_of(it, first));
    if (code == success) fill(call, it);
    return code;
  });
}

/// As fill_struct, of a structure with a version.
template <class Struct, class Fill>
Return fill_versioned(const char* function, Handle handle, Struct* out, unsigned version,
                      Detail first, Fill fill) {
  if (out != nullptr && !has_version(*out, version)) {
    return on_device(function, handle,
                     [](const Call&, const FakeDevice&) { return argument_version_mismatch; });
  }
  return fill_struct(function, handle, out, first, fill);
}

}  // namespace

FAKE_NVML nvmlDeviceGetPdi(Handle handle, Pdi* out) {
  return fill_versioned(
      __func__, handle, out, 1, Detail::pdi,
      [&](const Call& call, const FakeDevice& it) { out->value = large(call, it, Detail::pdi); });
}

FAKE_NVML nvmlDeviceGetPlatformInfo(Handle handle, PlatformInfo* out) {
  constexpr Word peers[] = {{0, "Direct Connected"}, {1, "Switch Connected"}};
  return fill_versioned(
      __func__, handle, out, 2, Detail::platform_slot_number,
      [&](const Call& call, const FakeDevice& it) {
        const auto byte = [&](Detail detail) {
          return static_cast<std::uint8_t>(small(call, it, detail));
        };
        std::uint64_t guid = count_in(cell_of(it, Detail::platform_fabric_guid));
        for (int i = 7; i >= 0; --i, guid >>= 8) out->ib_guid[i] = guid & 0xFF;
        const std::string serial = text_in(cell_of(it, Detail::platform_chassis_serial));
        std::memcpy(out->chassis_serial, serial.data(), std::min<std::size_t>(serial.size(), 16));
        out->slot = byte(Detail::platform_slot_number);
        out->tray = byte(Detail::platform_tray_index);
        out->host = byte(Detail::platform_host_id);
        out->peer_type = static_cast<std::uint8_t>(
            lied(call, enumerator_in(cell_of(it, Detail::platform_peer_type), peers)));
        out->module_id = byte(Detail::platform_module_id);
      });
}

// --- texts
// ----------------------------------------------------------------------------------------

FAKE_NVML nvmlDeviceGetBoardPartNumber(Handle handle, char* out, unsigned length) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_text_cell(call, out, length, cell_of(it, Detail::board_part_number));
  });
}
FAKE_NVML nvmlDeviceGetInforomImageVersion(Handle handle, char* out, unsigned length) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_text_cell(call, out, length, cell_of(it, Detail::inforom_image));
  });
}
FAKE_NVML nvmlDeviceGetInforomVersion(Handle handle, unsigned object, char* out, unsigned length) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    constexpr Detail objects[] = {Detail::inforom_oem, Detail::inforom_ecc, Detail::inforom_power};
    if (object > 3) return invalid_argument;
    return object == 3 ? not_supported
                       : put_text_cell(call, out, length, cell_of(it, objects[object]));
  });
}
FAKE_NVML nvmlDeviceGetGspFirmwareVersion(Handle handle, char* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_text_cell(call, out, 64, cell_of(it, Detail::gsp_firmware));
  });
}
FAKE_NVML nvmlDeviceGetHostname_v1(Handle handle, Hostname* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (out == nullptr) return invalid_argument;
    return put_text_cell(call, out->value, sizeof out->value, cell_of(it, Detail::hostname));
  });
}

// --- the infoROM
// ----------------------------------------------------------------------------------

FAKE_NVML nvmlDeviceValidateInforom(Handle handle) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    const Cell& valid = cell_of(it, Detail::inforom_valid);
    const Return code = answer_as(call, valid);
    if (code != success) return code;
    return number_in(valid) != 0 ? success : corrupted_inforom;
  });
}
FAKE_NVML nvmlDeviceGetLastBBXFlushTime(Handle handle, unsigned long long* when,
                                        unsigned long* duration) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    const Return code = put_cell(call, when, cell_of(it, Detail::inforom_flushed), 1000);
    if (code != success) return code;
    return put_cell(call, duration, cell_of(it, Detail::inforom_flush_duration));
  });
}
FAKE_NVML nvmlDeviceGetBBXTimeData_v1(Handle handle, BbxTime* out) {
  return fill_struct(__func__, handle, out, Detail::black_box_time_run,
                     [&](const Call& call, const FakeDevice& it) {
                       out->seconds_run = small(call, it, Detail::black_box_time_run);
                     });
}

FAKE_NVML nvmlDeviceGetBridgeChipInfo(Handle handle, BridgeChips* out) {
  constexpr Word kinds[] = {{0, "PLX"}, {1, "BRO4"}};
  return fill_struct(
      __func__, handle, out, Detail::bridge_chip_type, [&](const Call& call, const FakeDevice& it) {
        out->count = 1;
        out->chips[0].type =
            lied(call, enumerator_in(cell_of(it, Detail::bridge_chip_type), kinds));
        out->chips[0].firmware = static_cast<std::uint32_t>(
            std::strtoul(text_in(cell_of(it, Detail::bridge_chip_firmware)).c_str(), nullptr, 10));
      });
}

// --- modes
// ----------------------------------------------------------------------------------------

namespace {

Return fill_number(const char* function, Handle handle, VersionedNumber* out, Detail detail,
                   Words words = {}) {
  return fill_versioned(
      function, handle, out, 1, detail, [&](const Call& call, const FakeDevice& it) {
        const Cell& cell = cell_of(it, detail);
        const auto number =
            static_cast<std::uint32_t>(static_cast<std::int32_t>(std::lround(number_in(cell))));
        out->number = lied(call, words.empty() ? number : enumerator_in(cell, words));
      });
}

}  // namespace

FAKE_NVML nvmlDeviceGetAddressingMode(Handle handle, VersionedNumber* out) {
  constexpr Word modes[] = {{0, "None"}, {1, "HMM"}, {2, "ATS"}};
  return fill_number(__func__, handle, out, Detail::addressing_mode, modes);
}
FAKE_NVML nvmlDeviceGetVgpuHeterogeneousMode(Handle handle, VersionedNumber* out) {
  constexpr Word modes[] = {{0, "Disabled"}, {1, "Enabled"}};
  return fill_number(__func__, handle, out, Detail::vgpu_heterogeneous_mode, modes);
}
FAKE_NVML nvmlDeviceGetMarginTemperature(Handle handle, VersionedNumber* out) {
  return fill_number(__func__, handle, out, Detail::temperature_limit_margin);
}
FAKE_NVML nvmlDeviceGetCapabilities(Handle handle, VersionedNumber* out) {
  return fill_number(__func__, handle, out, Detail::egm);
}
FAKE_NVML nvmlDeviceGetC2cModeInfoV(Handle handle, C2cMode* out) {
  return fill_struct(__func__, handle, out, Detail::c2c_mode,
                     [&](const Call& call, const FakeDevice& it) {
                       out->enabled = small(call, it, Detail::c2c_mode);
                     });
}
FAKE_NVML nvmlDeviceGetDramEncryptionMode(Handle handle, VersionedNumber* current,
                                          VersionedNumber* pending) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (current == nullptr || pending == nullptr) return invalid_argument;
    if (!has_version(*current, 1) || !has_version(*pending, 1)) return argument_version_mismatch;
    const Return code = put_cell(call, &current->number, cell_of(it, Detail::dram_encryption));
    if (code != success) return code;
    return put_cell(call, &pending->number, cell_of(it, Detail::dram_encryption_pending));
  });
}

// --- memory
// ---------------------------------------------------------------------------------------

FAKE_NVML nvmlDeviceGetBAR1MemoryInfo(Handle handle, Bar1Memory* out) {
  return fill_struct(
      __func__, handle, out, Detail::bar1_total, [&](const Call& call, const FakeDevice& it) {
        *out = {large(call, it, Detail::bar1_total), large(call, it, Detail::bar1_free),
                large(call, it, Detail::bar1_used)};
      });
}
FAKE_NVML nvmlDeviceGetConfComputeProtectedMemoryUsage(Handle handle, MemoryV1* out) {
  return fill_struct(__func__, handle, out, Detail::protected_memory_total,
                     [&](const Call& call, const FakeDevice& it) {
                       *out = {large(call, it, Detail::protected_memory_total),
                               large(call, it, Detail::protected_memory_free),
                               large(call, it, Detail::protected_memory_used)};
                     });
}

FAKE_NVML nvmlDeviceGetEncoderStats(Handle handle, unsigned* sessions, unsigned* fps,
                                    unsigned* latency) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    Return code = put_cell(call, sessions, cell_of(it, Detail::encoder_sessions));
    if (code == success) code = put_cell(call, fps, cell_of(it, Detail::encoder_fps));
    if (code == success) code = put_cell(call, latency, cell_of(it, Detail::encoder_latency));
    return code;
  });
}
FAKE_NVML nvmlDeviceGetFBCStats(Handle handle, FbcStats* out) {
  return fill_struct(
      __func__, handle, out, Detail::capture_sessions, [&](const Call& call, const FakeDevice& it) {
        *out = {small(call, it, Detail::capture_sessions), small(call, it, Detail::capture_fps),
                small(call, it, Detail::capture_latency)};
      });
}

FAKE_NVML nvmlDeviceGetSramEccErrorStatus(Handle handle, SramErrors* out) {
  return fill_versioned(
      __func__, handle, out, 1, Detail::ecc_sram_parity_volatile,
      [&](const Call& call, const FakeDevice& it) {
        out->aggregate_parity = large(call, it, Detail::ecc_sram_parity_aggregate);
        out->aggregate_secded = large(call, it, Detail::ecc_sram_secded_aggregate);
        out->aggregate_corrected = large(call, it, Detail::ecc_corrected_aggregate_sram);
        out->volatile_parity = large(call, it, Detail::ecc_sram_parity_volatile);
        out->volatile_secded = large(call, it, Detail::ecc_sram_secded_volatile);
        out->volatile_corrected = large(call, it, Detail::ecc_corrected_volatile_sram);
        out->aggregate_l2 = large(call, it, Detail::ecc_sram_source_l2);
        out->aggregate_sm = large(call, it, Detail::ecc_sram_source_sm);
        out->aggregate_pcie = large(call, it, Detail::ecc_sram_source_pcie);
        out->aggregate_mcu = large(call, it, Detail::ecc_sram_source_microcontroller);
        out->aggregate_other = large(call, it, Detail::ecc_sram_source_other);
        out->threshold_exceeded = small(call, it, Detail::ecc_sram_threshold_exceeded);
      });
}

FAKE_NVML nvmlDeviceGetRemappedRows(Handle handle, unsigned* corrected, unsigned* uncorrected,
                                    unsigned* pending, unsigned* failed) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    Return code = put_cell(call, corrected, cell_of(it, Detail::remapped_rows_correctable));
    if (code == success) {
      code = put_cell(call, uncorrected, cell_of(it, Detail::remapped_rows_uncorrectable));
    }
    if (code == success) code = put_cell(call, pending, cell_of(it, Detail::remapped_rows_pending));
    if (code == success) code = put_cell(call, failed, cell_of(it, Detail::remapped_rows_failed));
    return code;
  });
}
FAKE_NVML nvmlDeviceGetRemappedRows_v2(Handle handle, RemappedRowsV2* out) {
  return fill_struct(__func__, handle, out, Detail::remapped_rows_correctable_inactive,
                     [&](const Call& call, const FakeDevice& it) {
                       *out = {small(call, it, Detail::remapped_rows_correctable),
                               small(call, it, Detail::remapped_rows_correctable_inactive),
                               small(call, it, Detail::remapped_rows_uncorrectable),
                               small(call, it, Detail::remapped_rows_uncorrectable_inactive),
                               small(call, it, Detail::remapped_rows_pending),
                               small(call, it, Detail::remapped_rows_failed)};
                     });
}
FAKE_NVML nvmlDeviceGetRowRemapperHistogram(Handle handle, RemapHistogram* out) {
  return fill_struct(
      __func__, handle, out, Detail::remap_banks_max, [&](const Call& call, const FakeDevice& it) {
        *out = {small(call, it, Detail::remap_banks_max), small(call, it, Detail::remap_banks_high),
                small(call, it, Detail::remap_banks_partial),
                small(call, it, Detail::remap_banks_low),
                small(call, it, Detail::remap_banks_none)};
      });
}
FAKE_NVML nvmlDeviceGetRepairStatus(Handle handle, RepairStatus* out) {
  return fill_versioned(__func__, handle, out, 1, Detail::channel_repair_pending,
                        [&](const Call& call, const FakeDevice& it) {
                          out->channel_pending = small(call, it, Detail::channel_repair_pending);
                          out->tpc_pending = small(call, it, Detail::tpc_repair_pending);
                        });
}
FAKE_NVML nvmlDeviceGetUnrepairableMemoryFlag_v1(Handle handle, UnrepairableMemory* out) {
  return fill_struct(__func__, handle, out, Detail::unrepairable_memory,
                     [&](const Call& call, const FakeDevice& it) {
                       out->unrepairable = small(call, it, Detail::unrepairable_memory);
                     });
}

// --- profiles and fabric
// --------------------------------------------------------------------------

namespace {

// "0, 3, 17" as bits.
ProfileMask mask_in(const std::string& text) {
  ProfileMask mask{};
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const unsigned long bit = std::strtoul(at, &end, 10);
    if (end != at && bit < 255) mask.words[bit / 32] |= 1U << bit % 32;
    at = end == at ? at + 1 : end;
  }
  return mask;
}

constexpr Word fabric_states[] = {{1, "Not Started"}, {2, "In Progress"}, {3, "Completed"}};
constexpr Word summaries[] = {{1, "Healthy"}, {2, "Unhealthy"}, {3, "Limited Capacity"}};
constexpr Word bandwidths[] = {{1, "Degraded"}, {2, "Full"}};
constexpr Word truths[] = {{1, "True"}, {2, "False"}};
constexpr Word configurations[] = {{1, "None"},
                                   {2, "Incorrect SysGUID"},
                                   {3, "Incorrect Chassis SN"},
                                   {4, "No Partition"},
                                   {5, "Insufficient Nvlinks"},
                                   {6, "Incompatible GPU Firmware"},
                                   {7, "Invalid Location"},
                                   {8, "GPU State Invalid"}};

std::uint32_t health_in(const FakeDevice& it) {
  const auto bits = [&](Detail detail, Words words, unsigned shift) {
    return enumerator_in(cell_of(it, detail), words) << shift;
  };
  return bits(Detail::fabric_health_bandwidth, bandwidths, 0) |
         bits(Detail::fabric_health_route_recovery, truths, 2) |
         bits(Detail::fabric_health_route_unhealthy, truths, 4) |
         bits(Detail::fabric_health_access_timeout, truths, 6) |
         bits(Detail::fabric_health_configuration, configurations, 8) |
         bits(Detail::fabric_health_partition, truths, 12);
}

template <class Info>
void fill_fabric(const Call& call, const FakeDevice& it, Info& info) {
  const std::string uuid = text_in(cell_of(it, Detail::fabric_cluster));
  std::string digits;
  for (const char c : uuid) {
    if (c != '-') digits += c;
  }
  for (std::size_t i = 0; i < 16 && 2 * i + 2 <= digits.size(); ++i) {
    info.cluster[i] =
        static_cast<std::uint8_t>(std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  const std::string status = text_in(cell_of(it, Detail::fabric_status));
  info.status = status.empty() || status == "Success" ? success : unknown;
  info.clique = small(call, it, Detail::fabric_clique);
  info.state = static_cast<std::uint8_t>(
      lied(call, enumerator_in(cell_of(it, Detail::fabric_state), fabric_states)));
}

}  // namespace

FAKE_NVML nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(Handle handle, PowerProfiles* out) {
  return fill_versioned(
      __func__, handle, out, 1, Detail::power_profiles_requested,
      [&](const Call&, const FakeDevice& it) {
        out->requested = mask_in(text_in(cell_of(it, Detail::power_profiles_requested)));
        out->enforced = mask_in(text_in(cell_of(it, Detail::power_profiles_enforced)));
      });
}

FAKE_NVML nvmlDeviceGetGpuFabricInfo(Handle handle, FabricInfoV1* out) {
  return fill_struct(__func__, handle, out, Detail::fabric_state,
                     [&](const Call& call, const FakeDevice& it) { fill_fabric(call, it, *out); });
}
FAKE_NVML nvmlDeviceGetGpuFabricInfoV(Handle handle, FabricInfoV3* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    const bool newest = out->version == 0x3000028;
    if (!newest && out->version != 0x2000024) return argument_version_mismatch;
    const Return code = answer_as(call, cell_of(it, Detail::fabric_state));
    if (code != success) return code;
    fill_fabric(call, it, *out);
    out->health = health_in(it);
    if (!newest) return success;  // the older structure ends here
    out->summary = static_cast<std::uint8_t>(
        enumerator_in(cell_of(it, Detail::fabric_health_summary), summaries));
    return success;
  });
}
