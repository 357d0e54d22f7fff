// Functions that fill a structure, newest structure first, and texts.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "probe/nvml/device_details.h"

namespace berth::nvml {

namespace {

/// The details that one answer holds: value and meaning each, or all absent for one reason.
struct Told {
  Detail detail{};
  As as{};
  std::int64_t number = 0;
};

template <std::size_t Size>
void put_all(Details& details, Return code, const Told (&parts)[Size]) {
  for (const Told& part : parts) {
    details.put(part.detail,
                code == success ? cell_as(part.as, part.number) : Cell(why_absent(code)));
  }
}

template <class Struct>
Struct versioned(unsigned version) {
  Struct filled{};
  filled.version = struct_version<Struct>(version);
  return filled;
}

/// A number of one byte: all its bits set is none, as for the wider ones.
std::int64_t of_byte(std::uint8_t number) {
  return number == 0xFF ? std::int64_t{0xFFFFFFFF} : std::int64_t{number};
}

std::int64_t signed_count(std::uint64_t count) { return static_cast<std::int64_t>(count); }

void read_pci_details(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  auto info = versioned<PciInfoExt>(1);
  Return code = asker.call(api.nvmlDeviceGetPciInfoExt, 0, &info);
  put_all(details, code,
          {{Detail::pci_base_class, As::number, info.base_class},
           {Detail::pci_sub_class, As::number, info.sub_class}});
  std::uint32_t subsystem = info.subsystem;
  if (is_refused_for_good(code)) {
    PciInfoV3 older{};
    code = asker.call(api.nvmlDeviceGetPciInfo_v3, 0, &older);
    subsystem = older.subsystem;
  }
  details.put(Detail::pci_subsystem_id,
              code == success && is_unavailable(subsystem) ? Cell(Absent::unsupported)
              : code == success
                  ? cell_of_text(fmt::format("{:04x}:{:04x}", subsystem & 0xFFFF, subsystem >> 16))
                  : Cell(why_absent(code)));
}

void read_pdi(DeviceAsker& asker, Details& details) {
  auto pdi = versioned<Pdi>(1);
  const Return code = asker.call(asker.api().nvmlDeviceGetPdi, 0, &pdi);
  details.put(Detail::pdi, code == success ? cell_of_count(pdi.value) : Cell(why_absent(code)));
}

std::uint64_t big_endian(const std::uint8_t (&bytes)[16]) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | bytes[i];
  return number;
}

// Version 1 has the rack's GUID where version 2 has the chassis' serial number.
void read_platform(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  unsigned version = 2;
  auto info = versioned<PlatformInfo>(version);
  Return code = asker.call(api.nvmlDeviceGetPlatformInfo, version, &info);
  if (is_refused_for_good(code)) {
    version = 1;
    info = versioned<PlatformInfo>(version);
    code = asker.call(api.nvmlDeviceGetPlatformInfo, version, &info);
  }
  put_all(details, code,
          {{Detail::platform_slot_number, As::number, of_byte(info.slot)},
           {Detail::platform_tray_index, As::number, of_byte(info.tray)},
           {Detail::platform_host_id, As::number, of_byte(info.host)},
           {Detail::platform_peer_type, As::peer_type, info.peer_type},
           {Detail::platform_module_id, As::number, of_byte(info.module_id)}});
  const Cell absent = why_absent(code);
  const auto* const serial = reinterpret_cast<const char*>(info.chassis_serial);
  details.put(Detail::platform_fabric_guid,
              code == success ? cell_of_count(big_endian(info.ib_guid)) : absent);
  details.put(Detail::platform_chassis_serial,
              code != success ? absent
              : version == 1  ? Cell(Absent::unsupported)
                              : cell_of_text({serial, sizeof info.chassis_serial}));
  if (!is_refused_for_good(code)) return;
  details.put(Detail::platform_module_id,
              detail_of(As::number, asker.ask<unsigned>(api.nvmlDeviceGetModuleId, 0)));
}

void read_inforom(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  if (asker.wants(Detail::inforom_image)) {
    details.set(Detail::inforom_image, asker.ask_text(api.nvmlDeviceGetInforomImageVersion));
  }
  const auto read_object = [&](Detail detail, unsigned which) {
    if (!asker.wants(detail)) return;
    details.set(detail, asker.ask_text(api.nvmlDeviceGetInforomVersion, which, which));
  };
  read_object(Detail::inforom_oem, inforom_oem);
  read_object(Detail::inforom_ecc, inforom_ecc);
  read_object(Detail::inforom_power, inforom_power);
  if (!asker.wants(Detail::inforom_valid)) return;
  const Return valid = asker.call(api.nvmlDeviceValidateInforom, 0);
  if (valid == success || valid == corrupted_inforom) {
    details.put(Detail::inforom_valid, Scalar(valid == success));
  } else {
    details.put(Detail::inforom_valid, why_absent(valid));
  }
}

void read_black_box(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  if (asker.wants(Detail::inforom_flushed, Detail::inforom_flush_duration)) {
    unsigned long long flushed = 0;
    unsigned long duration = 0;
    const Return code = asker.call(api.nvmlDeviceGetLastBBXFlushTime, 0, &flushed, &duration);
    put_all(details, code,
            {{Detail::inforom_flushed, As::milliseconds, unix_ms_of(flushed)},
             {Detail::inforom_flush_duration, As::microseconds, signed_count(duration)}});
  }
  if (!asker.wants(Detail::black_box_time_run)) return;
  BbxTime run{};
  const Return told = asker.call(api.nvmlDeviceGetBBXTimeData_v1, 0, &run);
  put_all(details, told, {{Detail::black_box_time_run, As::seconds, run.seconds_run}});
}

void read_bridge_chip(DeviceAsker& asker, Details& details) {
  BridgeChips bridges{};
  Return code = asker.call(asker.api().nvmlDeviceGetBridgeChipInfo, 0, &bridges);
  if (code == success && bridges.count == 0) code = not_supported;
  put_all(details, code, {{Detail::bridge_chip_type, As::bridge_chip, bridges.chips[0].type}});
  const std::uint32_t version = bridges.chips[0].firmware;  // 0: not available
  details.put(Detail::bridge_chip_firmware, code != success ? Cell(why_absent(code))
                                            : version == 0 || is_unavailable(version)
                                                ? Cell(Absent::unsupported)
                                                : cell_of_text(std::to_string(version)));
}

void read_texts(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  if (asker.wants(Detail::board_part_number)) {
    details.set(Detail::board_part_number, asker.ask_text(api.nvmlDeviceGetBoardPartNumber));
  }
  if (asker.wants(Detail::gsp_firmware)) {
    // The one text function without a length: NVML_GSP_FIRMWARE_VERSION_BUF_SIZE is 64.
    char firmware[text_size] = {};
    const Return code =
        asker.call(api.nvmlDeviceGetGspFirmwareVersion, 0, static_cast<char*>(firmware));
    details.put(Detail::gsp_firmware, code == success ? cell_of_text({firmware, sizeof firmware})
                                                      : Cell(why_absent(code)));
  }
  if (!asker.wants(Detail::hostname)) return;
  Hostname hostname{};
  const Return code = asker.call(api.nvmlDeviceGetHostname_v1, 0, &hostname);
  details.put(Detail::hostname, code == success
                                    ? cell_of_text({hostname.value, sizeof hostname.value})
                                    : Cell(why_absent(code)));
}

/// A structure of a version and one number.
void put_versioned(DeviceAsker& asker, const Function<Handle, VersionedNumber*>& function,
                   Detail detail, As as, Details& details) {
  if (!asker.wants(detail)) return;
  auto answer = versioned<VersionedNumber>(1);
  const Return code = asker.call(function, 0, &answer);
  const std::int64_t number = as == As::celsius
                                  ? std::int64_t{static_cast<std::int32_t>(answer.number)}
                                  : std::int64_t{answer.number};
  put_all(details, code, {{detail, as, number}});
}

void read_modes(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  put_versioned(asker, api.nvmlDeviceGetAddressingMode, Detail::addressing_mode,
                As::addressing_mode, details);
  put_versioned(asker, api.nvmlDeviceGetVgpuHeterogeneousMode, Detail::vgpu_heterogeneous_mode,
                As::mode_word, details);
  put_versioned(asker, api.nvmlDeviceGetMarginTemperature, Detail::temperature_limit_margin,
                As::celsius, details);
  if (asker.wants(Detail::egm)) {
    auto capabilities = versioned<VersionedNumber>(1);
    const Return code = asker.call(api.nvmlDeviceGetCapabilities, 0, &capabilities);
    constexpr std::uint32_t extended_gpu_memory = 1;
    const bool told = !is_unavailable(capabilities.number);
    put_all(details, code == success && !told ? not_supported : code,
            {{Detail::egm, As::yes_or_no, capabilities.number & extended_gpu_memory}});
  }
  if (asker.wants(Detail::c2c_mode)) {
    C2cMode c2c{};
    const Return code = asker.call(api.nvmlDeviceGetC2cModeInfoV, 0, &c2c);
    put_all(details, code, {{Detail::c2c_mode, As::yes_or_no, c2c.enabled}});
  }
  if (!asker.wants(Detail::dram_encryption, Detail::dram_encryption_pending)) return;
  auto encrypted = versioned<VersionedNumber>(1);
  auto will_be = versioned<VersionedNumber>(1);
  const Return code = asker.call(api.nvmlDeviceGetDramEncryptionMode, 0, &encrypted, &will_be);
  put_all(details, code,
          {{Detail::dram_encryption, As::yes_or_no, encrypted.number},
           {Detail::dram_encryption_pending, As::yes_or_no, will_be.number}});
}

// These are the driver's, not a device's. They stand beside their kin.
void read_vgpu_driver(DeviceAsker& asker, Details& details) {
  const auto& function = asker.api().nvmlGetVgpuDriverCapabilities;
  constexpr unsigned heterogeneous = 0;
  unsigned capable = 0;
  Return code =
      function.call == nullptr ? function_not_found : function.call(heterogeneous, &capable);
  if (code == invalid_argument) code = not_supported;
  put_all(details, code, {{Detail::vgpu_driver_heterogeneous, As::supported_word, capable}});
}

void read_bar1(DeviceAsker& asker, Details& details) {
  Bar1Memory bar1{};
  Return code = asker.call(asker.api().nvmlDeviceGetBAR1MemoryInfo, 0, &bar1);
  if (code == success && bar1.total == 0) code = not_supported;
  put_all(details, code,
          {{Detail::bar1_total, As::bytes, signed_count(bar1.total)},
           {Detail::bar1_used, As::bytes, signed_count(bar1.used)},
           {Detail::bar1_free, As::bytes, signed_count(bar1.free)}});
}

void read_protected_memory(DeviceAsker& asker, Details& details) {
  MemoryV1 hidden{};
  const Return code =
      asker.call(asker.api().nvmlDeviceGetConfComputeProtectedMemoryUsage, 0, &hidden);
  put_all(details, code,
          {{Detail::protected_memory_total, As::bytes, signed_count(hidden.total)},
           {Detail::protected_memory_used, As::bytes, signed_count(hidden.used)},
           {Detail::protected_memory_free, As::bytes, signed_count(hidden.free)}});
}

void read_sessions(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  if (asker.wants(Detail::encoder_sessions, Detail::encoder_fps, Detail::encoder_latency)) {
    unsigned sessions = 0;
    unsigned fps = 0;
    unsigned latency = 0;
    const Return code = asker.call(api.nvmlDeviceGetEncoderStats, 0, &sessions, &fps, &latency);
    put_all(details, code,
            {{Detail::encoder_sessions, As::number, sessions},
             {Detail::encoder_fps, As::number, fps},
             {Detail::encoder_latency, As::microseconds, latency}});
  }
  if (!asker.wants(Detail::capture_sessions, Detail::capture_fps, Detail::capture_latency)) return;
  FbcStats capture{};
  const Return code = asker.call(api.nvmlDeviceGetFBCStats, 0, &capture);
  put_all(details, code,
          {{Detail::capture_sessions, As::number, capture.sessions},
           {Detail::capture_fps, As::number, capture.average_fps},
           {Detail::capture_latency, As::microseconds, capture.average_latency_us}});
}

void read_sram(DeviceAsker& asker, Details& details) {
  auto sram = versioned<SramErrors>(1);
  const Return code = asker.call(asker.api().nvmlDeviceGetSramEccErrorStatus, 0, &sram);
  put_all(details, code,
          {{Detail::ecc_sram_parity_volatile, As::number, signed_count(sram.volatile_parity)},
           {Detail::ecc_sram_secded_volatile, As::number, signed_count(sram.volatile_secded)},
           {Detail::ecc_sram_parity_aggregate, As::number, signed_count(sram.aggregate_parity)},
           {Detail::ecc_sram_secded_aggregate, As::number, signed_count(sram.aggregate_secded)},
           {Detail::ecc_sram_threshold_exceeded, As::yes_or_no, sram.threshold_exceeded},
           {Detail::ecc_sram_source_l2, As::number, signed_count(sram.aggregate_l2)},
           {Detail::ecc_sram_source_sm, As::number, signed_count(sram.aggregate_sm)},
           {Detail::ecc_sram_source_microcontroller, As::number, signed_count(sram.aggregate_mcu)},
           {Detail::ecc_sram_source_pcie, As::number, signed_count(sram.aggregate_pcie)},
           {Detail::ecc_sram_source_other, As::number, signed_count(sram.aggregate_other)}});
}

// Only version 2 tells the rows that are replaced and not in effect yet. Drivers that lack it, 590
// among them, answer the older function.
void read_remapped_rows(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  RemappedRowsV2 rows{};
  Return code = asker.call(api.nvmlDeviceGetRemappedRows_v2, 0, &rows);
  put_all(details, code,
          {{Detail::remapped_rows_correctable_inactive, As::number, rows.corrected_inactive},
           {Detail::remapped_rows_uncorrectable_inactive, As::number, rows.uncorrected_inactive}});
  if (is_refused_for_good(code)) {
    code = asker.call(api.nvmlDeviceGetRemappedRows, 0, &rows.corrected_active,
                      &rows.uncorrected_active, &rows.pending, &rows.failed);
  }
  put_all(details, code,
          {{Detail::remapped_rows_correctable, As::number, rows.corrected_active},
           {Detail::remapped_rows_uncorrectable, As::number, rows.uncorrected_active},
           {Detail::remapped_rows_pending, As::yes_or_no, rows.pending},
           {Detail::remapped_rows_failed, As::yes_or_no, rows.failed}});
}

void read_repairs(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  if (asker.wants(Detail::remap_banks_max, Detail::remap_banks_high, Detail::remap_banks_partial,
                  Detail::remap_banks_low, Detail::remap_banks_none)) {
    RemapHistogram banks{};
    const Return code = asker.call(api.nvmlDeviceGetRowRemapperHistogram, 0, &banks);
    put_all(details, code,
            {{Detail::remap_banks_max, As::number, banks.max},
             {Detail::remap_banks_high, As::number, banks.high},
             {Detail::remap_banks_partial, As::number, banks.partial},
             {Detail::remap_banks_low, As::number, banks.low},
             {Detail::remap_banks_none, As::number, banks.none}});
  }
  if (asker.wants(Detail::channel_repair_pending, Detail::tpc_repair_pending)) {
    auto repair = versioned<RepairStatus>(1);
    const Return code = asker.call(api.nvmlDeviceGetRepairStatus, 0, &repair);
    put_all(details, code,
            {{Detail::channel_repair_pending, As::yes_or_no, repair.channel_pending},
             {Detail::tpc_repair_pending, As::yes_or_no, repair.tpc_pending}});
  }
  if (!asker.wants(Detail::unrepairable_memory)) return;
  details.put(Detail::unrepairable_memory, unrepairable_memory(asker));
}

/// "0, 3, 17": the profiles whose bits are set. None: no text, so "unsupported" is not what it
/// says.
Cell profiles_in(const ProfileMask& mask) {
  if (std::ranges::all_of(mask.words, is_unavailable)) return Absent::unsupported;
  std::string listed;
  for (unsigned bit = 0; bit < 255; ++bit) {
    if ((mask.words[bit / 32] >> bit % 32 & 1) == 0) continue;
    listed += (listed.empty() ? "" : ", ") + std::to_string(bit);
  }
  return Scalar(listed.empty() ? "None" : listed);
}

void read_power_profiles(DeviceAsker& asker, Details& details) {
  auto profiles = versioned<PowerProfiles>(1);
  const Return code =
      asker.call(asker.api().nvmlDeviceWorkloadPowerProfileGetCurrentProfiles, 0, &profiles);
  const auto put = [&](Detail detail, const ProfileMask& mask) {
    details.put(detail, code == success ? profiles_in(mask) : Cell(why_absent(code)));
  };
  put(Detail::power_profiles_requested, profiles.requested);
  put(Detail::power_profiles_enforced, profiles.enforced);
}

struct HealthRow {
  Detail detail;
  unsigned shift;
  std::uint32_t width;
  As as;
};
constexpr HealthRow health_bits[] = {
    {Detail::fabric_health_bandwidth, 0, 0x3, As::fabric_bandwidth},
    {Detail::fabric_health_route_recovery, 2, 0x3, As::fabric_route},
    {Detail::fabric_health_route_unhealthy, 4, 0x3, As::fabric_route},
    {Detail::fabric_health_access_timeout, 6, 0x3, As::fabric_route},
    {Detail::fabric_health_configuration, 8, 0xF, As::fabric_configuration},
    {Detail::fabric_health_partition, 12, 0x3, As::fabric_route},
};

/// The newest structure that the driver fills, in the shape of the newest of all. Version 2 brought
/// the health, version 3 its summary.
std::expected<FabricInfoV3, Return> ask_fabric(DeviceAsker& asker) {
  const Api& api = asker.api();
  for (const unsigned version : {3U, 2U}) {
    FabricInfoV3 info{};
    info.version = version == 3 ? struct_version<FabricInfoV3>(3) : struct_version<FabricInfoV2>(2);
    const Return code = asker.call(api.nvmlDeviceGetGpuFabricInfoV, version, &info);
    if (code == success) return info;
    if (!is_refused_for_good(code)) return std::unexpected(code);
  }
  FabricInfoV1 old{};
  const Return code = asker.call(api.nvmlDeviceGetGpuFabricInfo, 0, &old);
  if (code != success) return std::unexpected(code);
  FabricInfoV3 info{.status = old.status, .clique = old.clique, .state = old.state};
  std::memcpy(info.cluster, old.cluster, sizeof info.cluster);
  return info;
}

Cell fabric_status(const FabricInfoV3& info) {
  constexpr std::uint8_t completed = 3;  // before that the status says nothing
  if (info.state != completed) return Absent::not_sampled;
  return Scalar(vendor_words(info.status));
}

void read_fabric(DeviceAsker& asker, Details& details) {
  auto info = ask_fabric(asker);
  // A device outside of any fabric says so by its state.
  if (info && info->state == 0) info = std::unexpected(not_supported);
  const Return code = info ? success : info.error();
  const FabricInfoV3 told = info.value_or(FabricInfoV3{});
  const Cell absent = why_absent(code);
  put_all(details, code,
          {{Detail::fabric_state, As::fabric_state, told.state},
           {Detail::fabric_clique, As::number, told.clique},
           {Detail::fabric_health_summary, As::fabric_summary, told.summary}});
  details.put(Detail::fabric_status, info ? fabric_status(told) : absent);
  details.put(Detail::fabric_cluster, info ? cell_of_text(uuid_text(told.cluster)) : absent);
  for (const HealthRow& row : health_bits) {
    details.put(
        row.detail,
        info ? cell_as(row.as, std::int64_t{told.health >> row.shift & row.width}) : absent);
  }
}

}  // namespace

Cell unrepairable_memory(DeviceAsker& asker) {
  UnrepairableMemory memory{};
  const Return code = asker.call(asker.api().nvmlDeviceGetUnrepairableMemoryFlag_v1, 0, &memory);
  if (code != success) return why_absent_newcomer(code);
  return cell_as(As::yes_or_no, std::int64_t{memory.unrepairable});
}

void read_struct_details(DeviceAsker& asker, Details& details) {
  using D = Detail;
  if (asker.wants(D::pci_base_class, D::pci_sub_class, D::pci_subsystem_id)) {
    read_pci_details(asker, details);
  }
  if (asker.wants(D::pdi)) read_pdi(asker, details);
  if (asker.wants_between(D::platform_chassis_serial, D::platform_fabric_guid)) {
    read_platform(asker, details);
  }
  read_inforom(asker, details);
  read_black_box(asker, details);
  if (asker.wants(D::bridge_chip_type, D::bridge_chip_firmware)) read_bridge_chip(asker, details);
  read_texts(asker, details);
  read_modes(asker, details);
  if (asker.wants(D::vgpu_driver_heterogeneous)) read_vgpu_driver(asker, details);
  if (asker.wants(D::bar1_total, D::bar1_used, D::bar1_free)) read_bar1(asker, details);
  if (asker.wants(D::protected_memory_total, D::protected_memory_used, D::protected_memory_free)) {
    read_protected_memory(asker, details);
  }
  read_sessions(asker, details);
  if (asker.wants_between(D::ecc_sram_parity_volatile, D::ecc_sram_source_other)) {
    read_sram(asker, details);
  }
  if (asker.wants_between(D::remapped_rows_correctable, D::remapped_rows_failed)) {
    read_remapped_rows(asker, details);
  }
  read_repairs(asker, details);
  if (asker.wants(D::power_profiles_requested, D::power_profiles_enforced)) {
    read_power_profiles(asker, details);
  }
  if (asker.wants_between(D::fabric_state, D::fabric_health_partition)) read_fabric(asker, details);
}

void read_instance_details(DeviceAsker& asker, Details& details) {
  const Api& api = asker.api();
  Attributes attributes{};
  Return code = asker.call(api.nvmlDeviceGetAttributes_v2, 0, &attributes);
  put_all(details, code,
          {{Detail::mig_copy_engines, As::number, attributes.shared_copy_engines},
           {Detail::mig_encoders, As::number, attributes.shared_encoders},
           {Detail::mig_decoders, As::number, attributes.shared_decoders},
           {Detail::mig_ofa_engines, As::number, attributes.shared_ofas},
           {Detail::mig_jpeg_engines, As::number, attributes.shared_jpegs}});
  read_bar1(asker, details);
  unsigned long long errors = 0;
  code = asker.call_if_known(api.nvmlDeviceGetMemoryErrorCounter, 0, error_uncorrected,
                             ecc_volatile, location_sram, &errors);
  put_all(details, code,
          {{Detail::ecc_uncorrected_volatile_sram, As::number, signed_count(errors)}});
}

}  // namespace berth::nvml
